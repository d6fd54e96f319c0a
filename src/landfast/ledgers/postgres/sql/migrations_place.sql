-- The schema of a ledger that was made beside the user's tables and not moved yet. What was moved leaves a view there.
SELECT namespace.nspname
FROM pg_class AS relation
JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
WHERE relation.oid = to_regclass('landfast_ledger_migration') AND relation.relkind = 'r'
