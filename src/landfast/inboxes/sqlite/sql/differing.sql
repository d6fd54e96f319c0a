-- Where retention has dropped the body, nothing differs.
SELECT b.body <> :body, b.type <> :type, b.received_at
FROM identity i
JOIN body b ON b.seq = i.seq
WHERE i.event_id = :event_id AND (b.body <> :body OR b.type <> :type)
