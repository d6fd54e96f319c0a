UPDATE landfast_ledger.effect SET due_at = least(due_at, landfast_ledger.clock())
WHERE done_at IS NULL AND state = $2 AND substring(token FOR 8) = $1
RETURNING seq
