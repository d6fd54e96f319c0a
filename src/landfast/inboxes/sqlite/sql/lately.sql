SELECT at, run, signal, state, attempts, reason, who
FROM history
ORDER BY seq DESC
LIMIT ?
