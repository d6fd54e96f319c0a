SELECT seq, at, action, step, who, host, why, what, asked_by, digest
FROM landfast.operator_log
WHERE seq > $1 AND seq <= $2
ORDER BY seq
LIMIT $3
