-- A boot that lives long starts a new row every 1,000 batches: those that it has left behind become one, and all of them
-- once it has been silent for $1 seconds. Who is writing in one, or folds it at the same time, keeps it for now.
WITH newest AS (
    SELECT
        c.boot, max(c.slot) AS live, min(c.slot) AS drained,
        EXISTS (
            SELECT FROM landfast.boot AS b
            WHERE b.boot = c.boot AND b.reported_at < landfast.clock() - make_interval(secs => $1)
        ) AS is_silent
    FROM landfast.counted AS c GROUP BY c.boot HAVING max(c.slot) > 0 OR min(c.slot) < -1
),
left_behind AS MATERIALIZED (
    SELECT c.boot, c.slot, c.source FROM landfast.counted AS c JOIN newest USING (boot)
    WHERE
        (c.slot > 0 AND (c.slot < newest.live - 2 OR newest.is_silent))
        OR (c.slot < -1 AND (c.slot > newest.drained + 2 OR newest.is_silent))
    ORDER BY c.boot, c.slot, c.source
    FOR UPDATE OF c SKIP LOCKED
),
gone AS (
    DELETE FROM landfast.counted AS c USING left_behind AS l
    WHERE c.boot = l.boot AND c.slot = l.slot AND c.source = l.source
    RETURNING c.*
),
folded AS (
    SELECT boot, CASE WHEN slot < 0 THEN -1 ELSE 0 END AS slot, source, stored, deliveries, again FROM gone
)
INSERT INTO landfast.counted AS t (boot, slot, source, stored, deliveries, again)
SELECT boot, slot, source, sum(stored), sum(deliveries), sum(again)
FROM folded GROUP BY boot, slot, source ORDER BY boot, slot, source
ON CONFLICT (boot, slot, source) DO UPDATE SET
    stored = t.stored + EXCLUDED.stored, deliveries = t.deliveries + EXCLUDED.deliveries, again = t.again + EXCLUDED.again
