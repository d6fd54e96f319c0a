-- With the table that it was about.
DELETE FROM landfast.retention_walk WHERE part = $1 OR part = $1 || ' leaves'
