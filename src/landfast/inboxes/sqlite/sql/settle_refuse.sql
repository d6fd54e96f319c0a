-- Dead before any handler saw it: by the holder of the token only.
INSERT INTO shelf (event_id, state, due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
                   tries, handler, reason, error, message)
SELECT event_id, 'dead', NULL, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
       coalesce(:tries, tries), :handler, :reason, :error, :message
FROM work
WHERE event_id = :event_id AND run = :run AND token = :token
RETURNING received_at
