SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint
FROM pg_class
WHERE relnamespace = 'landfast'::regnamespace AND relkind IN ('r', 'm') AND relname <> 'ballast_laid'
