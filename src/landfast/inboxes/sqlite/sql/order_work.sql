-- What is at work already holds its lane, too; not what was replayed, because its lane has passed it, perhaps.
UPDATE work
SET holds = NOT work.is_replay,
    place = coalesce(work.place, coalesce(b.place, unhex(printf('%016x%016x',
        min(max(coalesce(b.occurred_at, b.received_at), 0), b.received_at + 300000000), b.received_at << 12))))
FROM body b
WHERE work.source = :source AND work.lane IS NOT NULL AND b.seq = work.body_seq
