UPDATE landfast_effect SET due_at = :until
WHERE done_at IS NULL AND state = 'claimed' AND token = :token AND due_at > :now
