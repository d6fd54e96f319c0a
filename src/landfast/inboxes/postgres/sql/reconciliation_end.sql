UPDATE landfast.reconciliation
SET
    token = NULL,
    held_until = landfast.clock() + make_interval(secs => $4),
    ended_at = CASE WHEN $3 = '' THEN landfast.clock() END,
    error = $3,
    compared_until = coalesce($5, compared_until)
WHERE source = $1 AND token = $2
