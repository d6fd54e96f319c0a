-- One that stands for an event that has come, unless it is over: `done_at` says so.
UPDATE landfast_effect
SET state = :done, token = NULL, due_at = :now, done_at = :now, error = '', message = '', trace = '', result = :result
WHERE key = :key AND run = :run AND done_at IS NULL AND state <> :waiting
