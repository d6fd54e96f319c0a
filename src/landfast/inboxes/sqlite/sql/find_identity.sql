-- Source and key together name at most one event.
SELECT seq, received_at, event_id FROM identity
WHERE event_id = :event_id
  AND (received_at, event_id) < (:to_at, :to_id) AND (received_at, event_id) >= (:from_at, :from_id)
LIMIT :window
