SELECT i.seq, b.headers, b.body
FROM identity i
JOIN body b ON b.seq = i.seq
WHERE i.event_id = ?
