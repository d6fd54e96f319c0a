SELECT at, run, signal, state, attempts, reason, who
FROM landfast.history
ORDER BY seq DESC
LIMIT $1
