-- Where retention has dropped the body, nothing differs.
SELECT b.body <> :body
FROM identity i
JOIN body b ON b.seq = i.seq
WHERE i.event_id = :event_id
