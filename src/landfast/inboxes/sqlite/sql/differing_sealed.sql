-- The sealed body of an event, to be opened and compared.
SELECT b.body, b.type, b.received_at
FROM identity i
JOIN body b ON b.seq = i.seq
WHERE i.event_id = ? AND b.headers = x'006c6673'
