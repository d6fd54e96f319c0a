-- Totals since boot: a report that comes twice changes nothing. What is received may come down again, by a handshake
-- that was no delivery; what is stored, by a drained record that turned out to be a duplicate. The rest only grows.
INSERT INTO tally (boot, source, received, stored, duplicate, rejected) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    received = excluded.received,
    stored = CASE
        WHEN excluded.duplicate > duplicate THEN excluded.stored
        WHEN excluded.duplicate < duplicate THEN stored -- an older report that arrived late
        ELSE max(stored, excluded.stored)
    END,
    duplicate = max(duplicate, excluded.duplicate),
    rejected = max(rejected, excluded.rejected)
