UPDATE landfast_ledger.effect SET due_at = landfast_ledger.clock() + make_interval(secs => $2)
WHERE done_at IS NULL AND state = $3 AND token = ANY ($1::bytea[]) AND due_at > landfast_ledger.clock()
