UPDATE landfast_effect SET due_at = min(due_at, :now)
WHERE done_at IS NULL AND state = 'claimed' AND substr(token, 1, 8) = :worker
