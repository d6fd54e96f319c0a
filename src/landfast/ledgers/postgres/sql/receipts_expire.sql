-- Those between two places in the table that are older than $3 seconds, and $4 seconds older than what every bound inbox
-- has spoken for; where one has not spoken yet, none. A walk by place needs no index, and costs those who write nothing.
WITH gone AS (
    DELETE FROM landfast_ledger.receipt AS receipt
    WHERE receipt.ctid >= $1::tid AND receipt.ctid < $2::tid
        AND receipt.created_at < landfast_ledger.clock() - make_interval(secs => $3)
        AND receipt.created_at < (
            SELECT coalesce(min(coalesce(inbox.kept_to, '-infinity')), '-infinity') - make_interval(secs => $4)
            FROM landfast_ledger.inbox AS inbox
        )
        AND NOT EXISTS (SELECT FROM landfast_ledger.kept AS kept WHERE kept.digest = receipt.digest)
    RETURNING 1
)
SELECT count(*) AS count FROM gone
