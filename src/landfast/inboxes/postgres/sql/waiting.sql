-- Of each (source, type) that has ready events, $1 at most: since when the oldest of the next few waits. One step in the
-- index for each, however many wait. One that was tried or replayed became ready later than it was received.
WITH RECURSIVE flow AS (
    (SELECT source, type FROM landfast.work ORDER BY source, type LIMIT 1)
    UNION ALL
    SELECT following.source, following.type
    FROM flow AS f
    CROSS JOIN LATERAL (
        SELECT w.source, w.type FROM landfast.work AS w
        WHERE (w.source, w.type) > (f.source, f.type)
        ORDER BY w.source, w.type LIMIT 1
    ) AS following
)
SELECT f.source, f.type, min(next.received_at) FILTER (WHERE next.run = 1 AND next.tries = '{}') AS since
FROM (SELECT source, type FROM flow LIMIT $1) AS f
CROSS JOIN LATERAL (
    SELECT w.received_at, w.run, w.tries FROM landfast.work AS w
    WHERE
        (w.source, w.type, w.seq) >= (f.source, f.type, 0) AND (w.source, w.type) <= (f.source, f.type)
        AND w.token IS NULL
    ORDER BY w.source, w.type, w.seq LIMIT 20
) AS next
GROUP BY f.source, f.type
ORDER BY since NULLS LAST, f.source, f.type
