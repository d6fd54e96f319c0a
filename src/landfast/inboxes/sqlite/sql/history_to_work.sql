-- An event whose newest line says one of the :states, that is neither at work nor on the shelf, and has its body: it was
-- neither erased nor has it expired. The
-- next run is forced if :forced says so; the same run is as forced as it was: the line of the replay that began it says.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries,
                  place, holds)
SELECT b.event_id, b.received_at, b.seq, b.source, b.type, b.entity, s.run + :next_run,
       iif(:next_run, :forced, EXISTS (
           SELECT 1 FROM history f WHERE f.received_at = b.received_at AND f.event_id = b.event_id
                                     AND f.run = s.run AND f.signal = :replay AND f.reason LIKE 'forced%')),
       0, 0, :next_tries,
       -- Recorded before there were places: as domain/lane.py has it.
       coalesce(b.place, unhex(printf('%016x%016x',
           min(max(coalesce(b.occurred_at, b.received_at), 0), b.received_at + 300000000), b.received_at << 12))),
       :holds_again AND b.entity IS NOT NULL AND b.source IN (SELECT o.source FROM ordered_source o)
FROM identity i
JOIN summary s ON s.seq = i.seq
JOIN body b ON b.seq = i.seq
WHERE i.event_id = :event_id AND s.state IN (SELECT value FROM json_each(:states))
  AND b.expired_at IS NULL AND NOT EXISTS (SELECT 1 FROM erasure e WHERE e.event_id = :event_id)
RETURNING received_at, run
