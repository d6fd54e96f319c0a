-- `key` marks the columns of the table's primary key.
SELECT relation.relname AS table, attribute.attname AS name, coalesce(attribute.attnum = ANY(primary_key.conkey), false) AS key,
    relation.relpersistence <> 'p' AS unlogged
FROM pg_class AS relation
JOIN pg_attribute AS attribute ON attribute.attrelid = relation.oid AND attribute.attnum > 0 AND NOT attribute.attisdropped
LEFT JOIN pg_constraint AS primary_key ON primary_key.conrelid = relation.oid AND primary_key.contype = 'p'
WHERE relation.relnamespace = to_regnamespace('landfast_ledger') AND relation.relname = ANY($1::text[])
