UPDATE landfast_effect SET due_at = landfast_clock() + make_interval(secs => $2)
WHERE done_at IS NULL AND state = 'claimed' AND substring(token FOR 8) = $1 AND due_at > landfast_clock()
