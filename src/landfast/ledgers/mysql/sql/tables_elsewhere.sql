-- The user's own tables whose engine does not roll back with ours.
SELECT relation.table_name AS name, relation.engine AS engine
FROM information_schema.tables AS relation
WHERE relation.table_schema = DATABASE() AND relation.table_type = 'BASE TABLE'
    AND relation.table_name NOT LIKE 'landfast%%'
    AND relation.engine NOT IN (SELECT engine FROM information_schema.engines WHERE xa = 'YES')
ORDER BY relation.table_name
