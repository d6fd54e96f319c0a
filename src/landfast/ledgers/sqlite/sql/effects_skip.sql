UPDATE landfast_effect
SET state = :then, done_at = :now, error = :skipped, result = :result
WHERE key = :key AND run = :run AND state = :before AND error <> 'erased'
