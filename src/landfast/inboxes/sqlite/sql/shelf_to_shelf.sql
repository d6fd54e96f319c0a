-- A run that is not given is any.
UPDATE shelf
SET state = :state, due_at = :due_at, tries = coalesce(:tries, tries), handler = :handler, reason = :reason,
    error = :error, message = :message
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND run = coalesce(:run, run) AND state IN (SELECT value FROM json_each(:states))
RETURNING received_at, run
