SELECT seq, at, action, step, who, host, why, what, asked_by, digest
FROM landfast.operator_log
WHERE ($1::bigint IS NULL OR seq < $1) AND ($2::timestamptz IS NULL OR at >= $2)
ORDER BY seq DESC
LIMIT $3
