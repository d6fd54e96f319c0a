-- A line before the first or behind the end is none of the log's: somebody has put it there. Without an end, all of them.
SELECT seq, at, action, step, who, host, why, what, asked_by, digest
FROM landfast.operator_log
WHERE
    seq > 0 AND seq <= coalesce((SELECT e.seq FROM landfast.operator_log_end AS e), 9223372036854775807)
    AND ($1::bigint IS NULL OR seq < $1) AND ($2::timestamptz IS NULL OR at >= $2)
ORDER BY seq DESC
LIMIT $3
