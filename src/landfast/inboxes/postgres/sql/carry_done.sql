-- The total is called as the state that it counts.
INSERT INTO landfast.total AS t (name, source, value)
SELECT $1::text, '', coalesce(sum((state = $1)::integer - (was = $1)::integer), 0)
FROM landfast.history WHERE seq > $2 AND seq <= $3
ON CONFLICT (name, source) DO UPDATE SET value = t.value + EXCLUDED.value
