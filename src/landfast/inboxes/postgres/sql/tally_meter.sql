-- The newest report is right: a total has grown, and a gauge may have come down.
INSERT INTO landfast.meter (boot, name, value)
SELECT $1, * FROM unnest($2::text[], $3::bigint[])
ON CONFLICT (boot, name) DO UPDATE SET value = EXCLUDED.value
