-- Every week of bodies and of lines that has a table, attached or on its way out, oldest first.
SELECT
    c.relname AS name, split_part(c.relname, '_', 1) AS parent,
    to_date(right(c.relname, 7), 'IYYY"w"IW')::timestamp AT TIME ZONE 'UTC' AS monday,
    i.inhrelid IS NOT NULL AS is_attached, coalesce(i.inhdetachpending, false) AS is_pending
FROM pg_class AS c
LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
WHERE c.relnamespace = 'landfast'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^(body|history)_\d{4}w\d{2}$'
ORDER BY monday, parent
