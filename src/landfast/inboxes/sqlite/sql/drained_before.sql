-- Whether the event is here by this very delivery: its drainer died before it could let go of it, or the answer to an
-- intake's COMMIT was late.
SELECT 1 FROM identity WHERE event_id = ? AND received_at = ?
