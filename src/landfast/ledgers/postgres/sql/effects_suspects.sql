SELECT 1 FROM landfast_ledger.effect
WHERE done_at IS NULL AND due_at <= landfast_ledger.clock() AND (suspect OR state = $1)
LIMIT 1
