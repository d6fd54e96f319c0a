-- A window of what waits in one state, newest first.
SELECT body_seq, received_at, event_id FROM shelf
WHERE state = :state
  AND (received_at, event_id) < (:to_at, :to_id) AND (received_at, event_id) >= (:from_at, :from_id)
ORDER BY received_at DESC, event_id DESC
LIMIT :window
