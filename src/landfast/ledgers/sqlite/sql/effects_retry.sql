UPDATE landfast_effect
SET state = 'ready', due_at = :now, done_at = NULL, tries_count = 0, tries_spent = 0, tries_unknown = 0,
    suspect = 0, crashes = 0
WHERE key = :key AND run = :run AND state = 'dead' AND error <> 'erased'
