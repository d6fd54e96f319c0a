-- `key` marks the columns of the table's primary key.
SELECT relation.table_name AS `table`, found.column_name AS name, found.column_key = 'PRI' AS `key`,
    relation.engine AS engine
FROM information_schema.tables AS relation
JOIN information_schema.columns AS found
    ON found.table_schema = relation.table_schema AND found.table_name = relation.table_name
WHERE relation.table_schema = DATABASE() AND relation.table_name LIKE 'landfast%%'
