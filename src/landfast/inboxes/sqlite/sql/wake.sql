-- Delayed events that are due become ready, after all that are ready already.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries)
SELECT event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries
FROM shelf
WHERE state = 'delayed' AND due_at <= :now
ORDER BY due_at, event_id
LIMIT :limit
RETURNING body_seq, event_id
