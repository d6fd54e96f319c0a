INSERT INTO body (seq, event_id, received_at, source, key, type, entity, occurred_at, headers, body, place)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
