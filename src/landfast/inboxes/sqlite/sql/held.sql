SELECT received_at, run, reason FROM shelf WHERE event_id = ? AND state = 'held'
