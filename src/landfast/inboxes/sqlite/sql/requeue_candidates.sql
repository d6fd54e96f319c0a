SELECT s.event_id, b.type
FROM shelf s
JOIN body b ON b.seq = s.body_seq
WHERE s.state = 'unhandled' AND s.source = :source
ORDER BY s.received_at DESC, s.event_id DESC
