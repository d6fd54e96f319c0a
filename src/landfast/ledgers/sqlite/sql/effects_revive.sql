UPDATE landfast_effect
SET state = :then, due_at = :now, done_at = NULL, tries_count = 0, tries_spent = 0, tries_unknown = 0,
    suspect = 0, crashes = 0
WHERE key = :key AND run = :run AND state = :before AND error <> 'erased'
