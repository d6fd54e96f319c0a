UPDATE landfast.body AS b SET headers = $2, body = $3, entity = NULL
FROM landfast.identity AS i
WHERE i.event_id = ANY ($1::bytea[]) AND b.received_at = i.received_at AND b.event_id = i.event_id
