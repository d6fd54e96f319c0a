-- Postpone and retry: by the holder of the token only. Suspicion and crashes go with the event.
INSERT INTO shelf (event_id, state, due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
                   tries, handler, reason, error, message)
SELECT event_id, 'delayed', :due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
       coalesce(:tries, tries), :handler, :reason, :error, :message
FROM work
WHERE event_id = :event_id AND run = :run AND token = :token
RETURNING received_at
