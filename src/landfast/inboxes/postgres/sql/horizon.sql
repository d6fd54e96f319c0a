-- The event that is so many places further in a listing, newest first.
SELECT received_at FROM landfast.body
WHERE $1::timestamptz IS NULL OR (received_at, event_id) < ($1, $2::bytea)
ORDER BY received_at DESC, event_id DESC
LIMIT 1 OFFSET $3
