SELECT DISTINCT virtualtransaction
FROM pg_locks
WHERE
    locktype = 'relation' AND relation = ('landfast.' || $1)::regclass AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND pid IS DISTINCT FROM pg_backend_pid()
