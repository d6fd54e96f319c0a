-- Totals, not increments: a report that comes twice changes nothing. What is received may come down again, by a
-- handshake that was no delivery. The rest only grows.
INSERT INTO landfast.tally AS t (boot, source, received, stored, duplicate, rejected, elsewhere, requests_elsewhere)
SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
ON CONFLICT (boot, source) DO UPDATE SET
    received = EXCLUDED.received,
    stored = greatest(t.stored, EXCLUDED.stored),
    duplicate = greatest(t.duplicate, EXCLUDED.duplicate),
    rejected = greatest(t.rejected, EXCLUDED.rejected),
    elsewhere = greatest(t.elsewhere, EXCLUDED.elsewhere),
    requests_elsewhere = greatest(t.requests_elsewhere, EXCLUDED.requests_elsewhere)
