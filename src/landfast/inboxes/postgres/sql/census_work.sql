SELECT
    count(*) FILTER (WHERE token IS NULL) AS ready,
    count(*) FILTER (WHERE token IS NOT NULL) AS claimed,
    min(received_at) FILTER (WHERE token IS NULL) AS oldest_ready
FROM landfast.work
