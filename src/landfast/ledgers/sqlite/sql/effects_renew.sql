UPDATE landfast_effect SET due_at = :until
WHERE done_at IS NULL AND state = 'claimed' AND substr(token, 1, 8) = :worker AND due_at > :now
