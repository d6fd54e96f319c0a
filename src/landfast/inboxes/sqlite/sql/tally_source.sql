-- Totals since boot: a report that comes twice changes nothing. What is received may come down again, by a handshake
-- that was no delivery; the rest only grows.
INSERT INTO tally (boot, source, received, stored, duplicate, rejected) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    received = excluded.received,
    stored = max(stored, excluded.stored),
    duplicate = max(duplicate, excluded.duplicate),
    rejected = max(rejected, excluded.rejected)
