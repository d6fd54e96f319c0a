SELECT format('CREATE SCHEMA IF NOT EXISTS %I', n.nspname) FROM pg_namespace n
WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND n.nspname <> 'public'
    AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.objid = n.oid AND x.deptype = 'e')
