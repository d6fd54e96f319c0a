-- Whether a transaction is open that began before the given moment, and so may still see what was erased before it.
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE
        datname = current_database() AND pid <> pg_backend_pid() AND xact_start < $1
        AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
)
