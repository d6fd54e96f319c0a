-- Those between two places in the table that were not moved for $3 seconds, and from which nothing leads on.
WITH gone AS (
    DELETE FROM landfast_ledger.lane_state AS known
    WHERE known.ctid >= $1::tid AND known.ctid < $2::tid
        AND known.is_last AND known.moved_at < landfast_ledger.clock() - make_interval(secs => $3)
    RETURNING 1
)
SELECT count(*) AS count FROM gone
