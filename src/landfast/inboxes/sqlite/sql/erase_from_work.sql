INSERT INTO shelf (event_id, state, due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
                   tries, handler, reason, error, message)
SELECT event_id, 'dead', NULL, received_at, body_seq, source, type, NULL, run, forced, suspect, crashes,
       '{}', '', 'erased', '', ''
FROM work
WHERE event_id = :event_id AND token IS NULL
RETURNING run
