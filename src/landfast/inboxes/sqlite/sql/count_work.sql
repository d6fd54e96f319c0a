-- How many are ready, or claimed.
SELECT count(*) FROM work
WHERE (token IS NOT NULL) = :claimed
  AND (received_at, event_id) < (:to_at, :to_id) AND (received_at, event_id) >= (:from_at, :from_id)
