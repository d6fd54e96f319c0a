-- The next :window events that wait, and did not come before :before: those are named already.
SELECT b.source, b.key, s.body_seq, s.event_id
FROM shelf s
JOIN body b ON b.seq = s.body_seq
WHERE (s.body_seq, s.event_id) > (:after_at, :after_id) AND s.received_at >= :before
ORDER BY s.body_seq, s.event_id
LIMIT :window
