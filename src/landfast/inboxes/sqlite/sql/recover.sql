-- The same run of what is done, once more. A run that an operator forced stays forced: its line of history says so.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries)
SELECT b.event_id, b.received_at, b.seq, b.source, b.type, b.entity, s.run,
       EXISTS (SELECT 1 FROM history f WHERE f.received_at = b.received_at AND f.event_id = b.event_id
                                         AND f.run = s.run AND f.signal = 'replay' AND f.reason = 'forced'),
       0, 0, '{}'
FROM identity i
JOIN summary s ON s.seq = i.seq
JOIN body b ON b.seq = i.seq
WHERE i.event_id = :event_id AND s.state = 'done'
  AND NOT EXISTS (SELECT 1 FROM erasure e WHERE e.event_id = :event_id)
RETURNING body_seq, received_at, run
