UPDATE landfast_effect SET due_at = min(due_at, :now)
WHERE done_at IS NULL AND state = :held AND substr(token, 1, 8) = :worker
