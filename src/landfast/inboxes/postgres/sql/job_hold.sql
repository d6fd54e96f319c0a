-- Locks it. Its lease may be over: as long as nobody else took it, it is still ours.
UPDATE landfast.job
SET leased_until = landfast.clock() + make_interval(secs => $3)
WHERE id = $1 AND token = $2 AND state = $4
RETURNING plan
