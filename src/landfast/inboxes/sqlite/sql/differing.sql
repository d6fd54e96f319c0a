-- Where the body has expired, nothing differs; where it was erased, only the type can. One that is sealed is opened first;
-- see `differing_sealed`.
SELECT e.event_id IS NULL AND b.body <> :body, b.type <> :type, b.received_at
FROM identity i
JOIN body b ON b.seq = i.seq
LEFT JOIN erasure e ON e.event_id = i.event_id
WHERE i.event_id = :event_id AND b.expired_at IS NULL AND b.headers <> x'006c6673'
  AND (e.event_id IS NULL AND b.body <> :body OR b.type <> :type)
