DELETE FROM landfast.redelivery WHERE event_id = ANY ($1::bytea[])
