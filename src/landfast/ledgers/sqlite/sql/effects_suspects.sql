SELECT 1 FROM landfast_effect
WHERE done_at IS NULL AND due_at <= :now AND (suspect OR state = :held)
LIMIT 1
