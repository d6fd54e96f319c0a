-- When the oldest event came that is whole: the first of a few thousand, or nobody knows.
SELECT received_at
FROM (SELECT received_at, event_id, expired_at FROM body ORDER BY received_at, event_id LIMIT 5000)
WHERE expired_at IS NULL
ORDER BY received_at
LIMIT 1
