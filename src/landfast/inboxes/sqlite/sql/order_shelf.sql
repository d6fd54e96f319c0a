-- The same of what waits, where it is in one of the :states. What has been dead for a year blocks nobody now.
UPDATE shelf
SET holds = shelf.run = 1 AND shelf.state IN (SELECT value FROM json_each(:states)),
    place = coalesce(shelf.place, coalesce(b.place, unhex(printf('%016x%016x',
        min(max(coalesce(b.occurred_at, b.received_at), 0), b.received_at + 300000000), b.received_at << 12))))
FROM body b
WHERE shelf.source = :source AND shelf.lane IS NOT NULL AND b.seq = shelf.body_seq
