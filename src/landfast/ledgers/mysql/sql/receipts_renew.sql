-- All of an event that comes again after the inbox had forgotten it: they are as old as its second coming, and outlive it.
-- Locked, so a walk that was about to delete one finds it young. One of the last day is young enough.
UPDATE landfast_receipt SET created_at = UTC_TIMESTAMP(6)
WHERE created_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY AND digest IN (
-- for each
%(digest)s
-- so far
)
