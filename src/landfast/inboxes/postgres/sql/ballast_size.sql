SELECT coalesce(pg_relation_size(to_regclass('landfast.ballast_laid')), 0)::bigint
