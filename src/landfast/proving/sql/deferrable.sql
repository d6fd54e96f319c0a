-- The user's constraints that may be checked as late as at the COMMIT.
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.conname)
FROM pg_constraint AS c
JOIN pg_namespace AS n ON n.oid = c.connamespace
WHERE c.condeferrable AND left(n.nspname, 8) <> 'landfast'
