-- The event that is so many places further in a listing, newest first.
SELECT received_at FROM body
WHERE (received_at, event_id) < (:to_at, :to_id)
ORDER BY received_at DESC, event_id DESC
LIMIT 1 OFFSET :events
