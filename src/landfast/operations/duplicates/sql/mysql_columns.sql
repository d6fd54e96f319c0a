-- Of a table: its columns in order, which of them are its primary key, and what kind of value they hold.
SELECT column_name, column_key, data_type
FROM information_schema.columns
WHERE table_schema = coalesce(%(schema)s, database()) AND table_name = %(name)s
ORDER BY ordinal_position
