INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries)
SELECT event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries
FROM shelf
WHERE body_seq = ? AND event_id = ? AND state = 'paused'
RETURNING received_at, run
