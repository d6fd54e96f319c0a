-- Those between two places in the table that were not moved for $3 seconds.
WITH gone AS (
    DELETE FROM landfast_ledger.lane_mark AS mark
    WHERE mark.ctid >= $1::tid AND mark.ctid < $2::tid
        AND mark.moved_at < landfast_ledger.clock() - make_interval(secs => $3)
    RETURNING 1
)
SELECT count(*) AS count FROM gone
