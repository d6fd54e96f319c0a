SELECT format('CREATE TYPE %I.%I AS (%s)', n.nspname, t.typname,
    (SELECT string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum)
     FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped))
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace JOIN pg_class c ON c.oid = t.typrelid
WHERE t.typtype = 'c' AND c.relkind = 'c'
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.objid = t.oid AND x.deptype = 'e')
