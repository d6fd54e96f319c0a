-- Totals, not increments: a report that comes twice changes nothing. What is received may come down again, by a
-- handshake that was no delivery; what is stored, by a drained record that turned out to be a duplicate. The rest only
-- grows.
INSERT INTO landfast.tally AS t (boot, source, received, stored, duplicate, rejected)
SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
ON CONFLICT (boot, source) DO UPDATE SET
    received = EXCLUDED.received,
    stored = CASE
        WHEN EXCLUDED.duplicate > t.duplicate THEN EXCLUDED.stored
        WHEN EXCLUDED.duplicate < t.duplicate THEN t.stored -- an older report that arrived late
        ELSE greatest(t.stored, EXCLUDED.stored)
    END,
    duplicate = greatest(t.duplicate, EXCLUDED.duplicate),
    rejected = greatest(t.rejected, EXCLUDED.rejected)
