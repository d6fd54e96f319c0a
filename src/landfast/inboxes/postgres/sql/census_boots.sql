-- Boots whose counts are not folded into the totals yet, with what waits in their spools by their last report: nothing
-- where another one has taken the spool over.
SELECT
    b.boot, b.ended, b.owes,
    NOT b.ended AND b.reported_at > landfast.clock() - make_interval(secs => $1) AS is_running,
    coalesce((
        SELECT m.value FROM landfast.meter AS m
        WHERE
            m.boot = b.boot AND m.name = 'spool_records'
            AND NOT EXISTS (
                SELECT FROM landfast.meter AS a WHERE a.name = 'spool_adopted:' || encode(b.boot, 'hex')
            )
    ), 0) AS waiting
FROM landfast.boot AS b
WHERE
    EXISTS (SELECT FROM landfast.tally AS t WHERE t.boot = b.boot)
    OR EXISTS (SELECT FROM landfast.counted AS c WHERE c.boot = b.boot)
ORDER BY b.reported_at
