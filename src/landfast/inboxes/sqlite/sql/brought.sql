SELECT event_id FROM identity WHERE event_id = ? AND received_at = ?
