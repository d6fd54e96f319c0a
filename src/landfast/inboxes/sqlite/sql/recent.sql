SELECT event_id FROM body WHERE received_at >= :since ORDER BY received_at DESC, event_id DESC LIMIT :limit
