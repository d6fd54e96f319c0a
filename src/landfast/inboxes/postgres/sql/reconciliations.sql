SELECT
    source, begun_at, since, place, listed, missing, taken, ended_at, held_until, error,
    token IS NOT NULL AND held_until > landfast.clock() AS is_running,
    compared_until
FROM landfast.reconciliation
ORDER BY source
