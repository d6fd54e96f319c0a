-- As `find_any`, oldest first.
SELECT seq, received_at, event_id FROM body
WHERE (received_at, event_id) < (:to_at, :to_id) AND (received_at, event_id) > (:from_at, :from_id)
ORDER BY received_at, event_id
LIMIT :window
