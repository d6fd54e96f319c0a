SELECT at, run, signal, state, attempts, reason, who
FROM landfast.history
WHERE received_at = $1 AND event_id = $2
ORDER BY seq
