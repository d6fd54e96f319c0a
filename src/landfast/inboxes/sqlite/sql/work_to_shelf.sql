-- Under :any_token or none; otherwise a token must be the event's, and where none is given it must have none. A run that
-- is not given is any. Suspicion and crashes go with the event. The second half is `leave_work`.
INSERT INTO shelf (event_id, state, due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
                   tries, handler, reason, error, line, message, shelved_at, seq, place, holds)
SELECT event_id, :state, :due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
       coalesce(:tries, tries), :handler, :reason, :error, :line, :message, :now,
       seq, place, holds AND NOT :is_passed
FROM work
WHERE event_id = :event_id AND run = coalesce(:run, run) AND (:any_token OR token IS :token)
RETURNING received_at, run, source, lane
