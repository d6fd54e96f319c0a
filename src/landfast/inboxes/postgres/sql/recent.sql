SELECT event_id FROM landfast.body WHERE received_at >= $1 ORDER BY received_at DESC, event_id DESC LIMIT $2
