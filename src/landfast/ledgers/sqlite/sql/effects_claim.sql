UPDATE landfast_effect
SET state = :held, token = :token, due_at = :until, suspect = :suspect, crashes = :crashes
WHERE seq = :seq AND done_at IS NULL AND due_at <= :now
