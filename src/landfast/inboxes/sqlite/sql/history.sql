SELECT at, run, signal, state, attempts, reason, who
FROM history
WHERE received_at = ? AND event_id = ?
ORDER BY seq
