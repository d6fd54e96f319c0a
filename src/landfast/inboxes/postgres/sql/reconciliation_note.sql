UPDATE landfast.reconciliation
SET held_until = landfast.clock() + make_interval(secs => $3), place = $4, listed = $5, missing = $6, taken = $7
WHERE source = $1 AND token = $2
RETURNING true
