SELECT DISTINCT virtualtransaction
FROM pg_locks
WHERE
    locktype = 'relation' AND relation = 'landfast.history'::regclass AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
