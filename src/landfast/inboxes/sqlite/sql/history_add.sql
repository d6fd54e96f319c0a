INSERT INTO history (received_at, event_id, at, run, signal, state, attempts, reason, who, was, handlers)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
