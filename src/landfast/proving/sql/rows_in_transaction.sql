-- How many rows of each of the user's tables this transaction has written so far.
SELECT
    CASE WHEN schemaname = 'public' THEN relname ELSE schemaname || '.' || relname END::text,
    n_tup_ins, n_tup_upd, n_tup_del
FROM pg_stat_xact_user_tables
WHERE n_tup_ins + n_tup_upd + n_tup_del > 0 AND left(schemaname, 8) <> 'landfast'
