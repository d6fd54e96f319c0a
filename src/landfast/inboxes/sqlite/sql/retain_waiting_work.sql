-- The next :window events that are ready or claimed, and did not come before :before: those are named already.
SELECT b.source, b.key, w.seq, w.event_id
FROM work w
JOIN body b ON b.seq = w.body_seq
WHERE w.seq > :after_at AND w.received_at >= :before
ORDER BY w.seq
LIMIT :window
