UPDATE landfast.work
SET leased_until = landfast.clock() + make_interval(secs => $2)
WHERE token = ANY ($1::bytea[]) AND leased_until > landfast.clock()
