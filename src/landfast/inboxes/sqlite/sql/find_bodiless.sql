-- A summary of what waits without its body: the key is gone with it.
SELECT event_id, source, '', type, lane, NULL, received_at, state, run, reason, error, message, handler, line, shelved_at,
       due_at, 0, NULL, NULL
FROM shelf
WHERE body_seq = ? AND event_id = ?
