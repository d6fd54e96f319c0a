UPDATE landfast_effect SET due_at = :until
WHERE done_at IS NULL AND state = :held AND token = :token AND due_at > :now
