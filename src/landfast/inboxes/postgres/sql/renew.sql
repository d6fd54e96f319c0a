UPDATE landfast.work
SET leased_until = landfast.clock() + make_interval(secs => $2)
WHERE substring(token FROM 1 FOR 8) = $1 AND leased_until > landfast.clock()
