-- Totals since boot: a report that comes twice changes nothing. What is received may come down again, by a handshake
-- that was no delivery. The rest only grows.
INSERT INTO tally (boot, source, received, stored, duplicate, rejected, elsewhere, requests_elsewhere)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    received = excluded.received,
    stored = max(stored, excluded.stored),
    duplicate = max(duplicate, excluded.duplicate),
    rejected = max(rejected, excluded.rejected),
    elsewhere = max(elsewhere, excluded.elsewhere),
    requests_elsewhere = max(requests_elsewhere, excluded.requests_elsewhere)
