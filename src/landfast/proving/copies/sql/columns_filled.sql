-- What the server fills in, with something else each time: numbers, times, chance.
SELECT n.nspname AS schema, c.relname AS name, a.attname AS column
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND c.relkind = 'r'
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) ~* '\(|current_')
