-- The same for one that waits.
UPDATE shelf
SET state = 'dead', due_at = NULL, handler = :handler, reason = :reason, error = :error, message = :message
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND run = :run AND state IN ('delayed', 'unhandled', 'paused')
RETURNING received_at
