SELECT h.received_at, h.event_id, h.seq, h.attempts
FROM landfast.identity AS i
JOIN landfast.history AS h ON h.received_at = i.received_at AND h.event_id = i.event_id
WHERE i.event_id = ANY ($1::bytea[]) AND h.attempts <> '[]'
