SELECT event_id
FROM identity
WHERE event_id BETWEEN ? AND ?
LIMIT 2
