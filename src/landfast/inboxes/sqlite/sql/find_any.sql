-- A window of every event, newest first: `find_summaries` says more of each.
SELECT seq, received_at, event_id FROM body
WHERE (received_at, event_id) < (:to_at, :to_id) AND (received_at, event_id) >= (:from_at, :from_id)
ORDER BY received_at DESC, event_id DESC
LIMIT :window
