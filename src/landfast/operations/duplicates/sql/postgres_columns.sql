-- Of a table: its columns in order, which of them are its primary key, and what kind of value they hold.
SELECT
    a.attname AS name,
    coalesce(a.attnum = ANY(p.conkey), false) AS is_key,
    format_type(a.atttypid, NULL) AS kind
FROM pg_attribute AS a
LEFT JOIN pg_constraint AS p ON p.conrelid = a.attrelid AND p.contype = 'p'
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
