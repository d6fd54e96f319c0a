-- One of those that it waits for is done. :free is what it becomes if that was the last one, and :scheduled what it
-- becomes if it has a time.
UPDATE landfast_effect
SET waits = waits - 1,
    state = CASE WHEN waits > 1 THEN state WHEN starts_at IS NULL THEN :free ELSE :scheduled END,
    due_at = CASE WHEN waits > 1 THEN due_at ELSE max(:now, coalesce(starts_at, :now)) END
WHERE key = :key AND run = :run AND state = :waiting
