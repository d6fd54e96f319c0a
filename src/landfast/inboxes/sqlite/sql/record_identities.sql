-- As `record_identity`, where it is enough to know how many are new.
INSERT INTO identity (event_id, received_at, seq) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
