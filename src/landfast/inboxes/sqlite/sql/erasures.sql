SELECT e.event_id, e.erased_at, e.who, e.is_clean, b.source, b.key
FROM erasure e
LEFT JOIN identity i ON i.event_id = e.event_id
LEFT JOIN body b ON b.seq = i.seq
ORDER BY e.erased_at, e.event_id
