SELECT i.event_id
FROM landfast.identity AS i
WHERE i.event_id = ANY ($1::bytea[]) AND NOT EXISTS (SELECT FROM landfast.erasure AS e WHERE e.event_id = i.event_id)
ORDER BY i.event_id
