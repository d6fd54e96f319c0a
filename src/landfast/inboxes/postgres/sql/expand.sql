SELECT event_id
FROM landfast.identity
WHERE event_id BETWEEN $1 AND $2
LIMIT 2
