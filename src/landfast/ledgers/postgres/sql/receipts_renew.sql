-- All of an event that comes again after the inbox had forgotten it: they are as old as its second coming, and outlive it.
-- Locked, so a walk that was about to delete one finds it young. One of the last day is young enough.
UPDATE landfast_ledger.receipt SET created_at = landfast_ledger.clock()
WHERE digest = ANY($1::bytea[]) AND created_at < landfast_ledger.clock() - interval '1 day'
