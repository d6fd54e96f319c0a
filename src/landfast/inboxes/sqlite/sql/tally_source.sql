-- Totals since boot: a report that comes twice, or late, changes nothing.
INSERT INTO tally (boot, source, received, stored, duplicate, rejected) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    received = max(received, excluded.received),
    stored = max(stored, excluded.stored),
    duplicate = max(duplicate, excluded.duplicate),
    rejected = max(rejected, excluded.rejected)
