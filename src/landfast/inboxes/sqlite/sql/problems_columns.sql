-- What the promises rest on: the columns of the tables that hold events.
SELECT s.name, c.name, c.type, c."notnull", c.pk
FROM sqlite_schema s
JOIN pragma_table_xinfo(s.name) c
WHERE s.type = 'table' AND s.name IN ('meta', 'identity', 'body', 'work', 'shelf', 'history', 'proof')
ORDER BY s.name, c.name
