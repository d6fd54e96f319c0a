SELECT body_seq, received_at, run, reason FROM shelf
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id AND state = 'held'
