SELECT event_id FROM landfast.identity WHERE event_id = ANY ($1::bytea[])
