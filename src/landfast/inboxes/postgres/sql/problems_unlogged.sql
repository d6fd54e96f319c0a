-- Tables, and parts of them, that recovery after a crash would empty.
SELECT c.oid::regclass::text
FROM pg_class AS c
WHERE c.relnamespace = to_regnamespace('landfast') AND c.relkind IN ('r', 'p') AND c.relpersistence <> 'p'
ORDER BY 1
