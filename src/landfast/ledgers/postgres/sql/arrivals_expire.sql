-- Those between two places in the table that were not moved for $3 seconds, and that nobody waits for.
WITH gone AS (
    DELETE FROM landfast_ledger.arrival AS arrival
    WHERE arrival.ctid >= $1::tid AND arrival.ctid < $2::tid
        AND arrival.moved_at < landfast_ledger.clock() - make_interval(secs => $3)
        AND NOT EXISTS (SELECT FROM landfast_ledger.effect_wait AS wait WHERE wait.awaited = arrival.key)
    RETURNING 1
)
SELECT count(*) AS count FROM gone
