SELECT n.nspname AS schema, c.relname AS name, here.attname AS here,
    tn.nspname AS to_schema, t.relname AS to_name, there.attname AS there
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class t ON t.oid = k.confrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
    CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair (mine, theirs)
    JOIN pg_attribute here ON here.attrelid = c.oid AND here.attnum = pair.mine
    JOIN pg_attribute there ON there.attrelid = t.oid AND there.attnum = pair.theirs
WHERE k.contype = 'f'
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
