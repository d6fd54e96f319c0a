SELECT format('CREATE %sVIEW %I.%I AS %s', CASE c.relkind WHEN 'm' THEN 'MATERIALIZED ' ELSE '' END,
    n.nspname, c.relname, pg_get_viewdef(c.oid))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm')
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND c.relname NOT LIKE 'landfast\_%'
    AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.objid = c.oid AND x.deptype = 'e')
ORDER BY c.oid
