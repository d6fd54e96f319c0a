-- Done is a sum that is carried forward, and what leaves is taken off it.
INSERT INTO landfast.total AS t (name, source, value)
SELECT name, source, sum(value)
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS d (name, source, value)
GROUP BY name, source ORDER BY name, source
ON CONFLICT (name, source) DO UPDATE SET value = t.value + EXCLUDED.value
