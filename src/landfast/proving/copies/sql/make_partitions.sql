SELECT format('ALTER TABLE %I.%I ATTACH PARTITION %I.%I %s', pn.nspname, p.relname, n.nspname, c.relname,
    pg_get_expr(c.relpartbound, c.oid))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_inherits i ON i.inhrelid = c.oid
    JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
WHERE c.relispartition AND c.relkind IN ('r', 'p')
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND c.relname NOT LIKE 'landfast\_%'
