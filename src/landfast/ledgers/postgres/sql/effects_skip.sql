UPDATE landfast_ledger.effect
SET state = $4, done_at = landfast_ledger.clock(), error = $5, result = $6
WHERE key = $1 AND run = $2 AND state = $3 AND error <> 'erased'
RETURNING key, run
