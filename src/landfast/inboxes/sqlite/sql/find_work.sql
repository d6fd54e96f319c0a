-- A window of what is ready or claimed, newest first.
SELECT body_seq, received_at, event_id FROM work
WHERE (token IS NOT NULL) = :claimed
  AND (received_at, event_id) < (:to_at, :to_id) AND (received_at, event_id) >= (:from_at, :from_id)
ORDER BY received_at DESC, event_id DESC
LIMIT :window
