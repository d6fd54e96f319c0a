SELECT event_id FROM identity WHERE event_id = ?
