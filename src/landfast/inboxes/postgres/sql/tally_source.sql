-- Totals, not increments: a report that comes twice, or late, changes nothing.
INSERT INTO landfast.tally AS t (boot, source, received, stored, duplicate, rejected)
SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
ON CONFLICT (boot, source) DO UPDATE SET
    received = greatest(t.received, EXCLUDED.received),
    stored = greatest(t.stored, EXCLUDED.stored),
    duplicate = greatest(t.duplicate, EXCLUDED.duplicate),
    rejected = greatest(t.rejected, EXCLUDED.rejected)
