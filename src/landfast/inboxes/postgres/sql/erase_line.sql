UPDATE landfast.history SET attempts = $4 WHERE received_at = $1 AND event_id = $2 AND seq = $3
