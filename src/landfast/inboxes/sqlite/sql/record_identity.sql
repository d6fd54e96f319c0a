-- The unique key decides between twins: no row comes back for the one that lost.
INSERT INTO identity (event_id, received_at, seq) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
RETURNING seq
