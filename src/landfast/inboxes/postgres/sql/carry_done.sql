INSERT INTO landfast.total AS t (name, source, value)
SELECT 'done', '', coalesce(sum((state = 'done')::integer - (was = 'done')::integer), 0)
FROM landfast.history WHERE seq > $1 AND seq <= $2
ON CONFLICT (name, source) DO UPDATE SET value = t.value + EXCLUDED.value
