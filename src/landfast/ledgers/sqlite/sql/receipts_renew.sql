-- All of an event that comes again after the inbox had forgotten it: they are as old as its second coming, and outlive it.
-- One of the last day is young enough.
UPDATE landfast_receipt SET created_at = :now WHERE digest = :digest AND created_at < :now - 86400000000
