-- Of the transaction, not of the session. The number is "landfast" in ASCII.
SELECT pg_advisory_xact_lock(7809644606330598260)
