SELECT seq, at, action, step, who, host, why, what, asked_by, digest
FROM operator_log
WHERE (:before IS NULL OR seq < :before) AND (:since IS NULL OR at >= :since)
ORDER BY seq DESC
LIMIT :limit
