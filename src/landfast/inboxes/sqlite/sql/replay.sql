-- The next run of what waits for an operator or a handler: fresh tries, no suspicion.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries)
SELECT event_id, received_at, body_seq, source, type, lane, run + 1, :forced, 0, 0, '{}'
FROM shelf
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND state IN ('dead', 'unhandled')
  AND NOT EXISTS (SELECT 1 FROM erasure e WHERE e.event_id = :event_id)
RETURNING body_seq, received_at, run
