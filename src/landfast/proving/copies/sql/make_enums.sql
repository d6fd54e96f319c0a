SELECT format('CREATE TYPE %I.%I AS ENUM (%s)', n.nspname, t.typname,
    (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
     FROM pg_enum e WHERE e.enumtypid = t.oid))
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype = 'e'
    AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'landfast%'
    AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.objid = t.oid AND x.deptype = 'e')
