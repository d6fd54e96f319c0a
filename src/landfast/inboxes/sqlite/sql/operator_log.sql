SELECT seq, at, action, step, who, host, why, what, asked_by, digest
FROM operator_log
WHERE seq > :after AND seq <= :upto
ORDER BY seq
LIMIT :limit
