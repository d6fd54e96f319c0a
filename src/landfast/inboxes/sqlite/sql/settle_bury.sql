-- A tombstone has decided: event and run, whoever holds the lease.
INSERT INTO shelf (event_id, state, due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
                   tries, handler, reason, error, message)
SELECT event_id, 'dead', NULL, received_at, body_seq, source, type, lane, run, forced, suspect, crashes,
       coalesce(:tries, tries), :handler, :reason, :error, :message
FROM work
WHERE event_id = :event_id AND run = :run
RETURNING received_at
