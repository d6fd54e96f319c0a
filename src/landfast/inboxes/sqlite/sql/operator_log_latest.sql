-- A line before the first or behind the end is none of the log's: somebody has put it there. Without an end, all of them.
SELECT seq, at, action, step, who, host, why, what, asked_by, digest
FROM operator_log
WHERE seq > 0 AND seq <= coalesce((SELECT seq FROM operator_log_end), 9223372036854775807)
  AND (:before IS NULL OR seq < :before) AND (:since IS NULL OR at >= :since)
ORDER BY seq DESC
LIMIT :limit
