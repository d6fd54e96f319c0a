SELECT format('CREATE DOMAIN %I.%I AS %s%s%s %s', n.nspname, t.typname, format_type(t.typbasetype, t.typtypmod),
    CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END, coalesce(' DEFAULT ' || t.typdefault, ''),
    coalesce((SELECT string_agg(pg_get_constraintdef(k.oid), ' ') FROM pg_constraint k
              WHERE k.contypid = t.oid AND k.contype = 'c'), ''))
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype = 'd'
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.objid = t.oid AND x.deptype = 'e')
