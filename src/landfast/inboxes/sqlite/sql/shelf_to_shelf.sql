-- A run that is not given is any. Where no handler is given, what the shelf says stays.
UPDATE shelf
SET state = :state, due_at = :due_at, tries = coalesce(:tries, tries), handler = coalesce(:handler, handler),
    reason = coalesce(:reason, reason), error = coalesce(:error, error), line = coalesce(:line, line),
    message = coalesce(:message, message), holds = holds AND NOT :is_passed,
    shelved_at = iif(:handler IS NULL, shelved_at, :now)
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND run = coalesce(:run, run) AND state IN (SELECT value FROM json_each(:states))
RETURNING received_at, run, source, iif(:is_passed, lane, NULL)
