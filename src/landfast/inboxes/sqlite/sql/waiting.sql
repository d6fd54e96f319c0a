-- Of each (source, type) that has ready events, :limit at most: since when the oldest of the next few waits. One step in
-- the index for each, however many wait. One that was tried or replayed became ready later than it was received.
WITH RECURSIVE flow (source, type) AS (
    SELECT * FROM (SELECT source, type FROM work ORDER BY source, type LIMIT 1)
    UNION ALL
    SELECT
        (SELECT w.source FROM work w WHERE (w.source, w.type) > (f.source, f.type) ORDER BY w.source, w.type LIMIT 1),
        (SELECT w.type FROM work w WHERE (w.source, w.type) > (f.source, f.type) ORDER BY w.source, w.type LIMIT 1)
    FROM flow f
    WHERE f.source IS NOT NULL
    LIMIT :limit),
counted (source, type, ready, since) AS (
    SELECT f.source, f.type,
        EXISTS (
            SELECT 1 FROM work w INDEXED BY work_by_type
            WHERE w.source = f.source AND w.type = f.type AND w.token IS NULL),
        (
            SELECT min(CASE WHEN next.run = 1 AND next.tries = '{}' THEN next.received_at END)
            FROM (
                SELECT w.run, w.tries, w.received_at FROM work w INDEXED BY work_by_type
                WHERE w.source = f.source AND w.type = f.type AND w.token IS NULL
                ORDER BY w.seq LIMIT 20
            ) AS next)
    FROM flow f
    WHERE f.source IS NOT NULL)
SELECT source, type, since FROM counted WHERE ready ORDER BY since IS NULL, since, source, type
