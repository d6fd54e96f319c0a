-- The guard is a CASE for the same reason as in `claim`.
SELECT min(received_at)
FROM (
    SELECT received_at, run, tries FROM landfast.work
    WHERE CASE WHEN token IS NULL THEN NOT suspect ELSE false END
    ORDER BY seq LIMIT 1000
) AS first
WHERE run = 1 AND tries = '{}'
