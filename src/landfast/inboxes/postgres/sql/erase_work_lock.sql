SELECT event_id, token IS NOT NULL AS is_claimed FROM landfast.work
WHERE event_id = ANY ($1::bytea[])
ORDER BY event_id FOR UPDATE
