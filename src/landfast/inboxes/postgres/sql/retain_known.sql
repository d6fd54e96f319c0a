-- Locked: whoever erases an event changes its lines, and meets us here.
SELECT event_id, received_at FROM landfast.identity WHERE event_id = ANY ($1::bytea[]) ORDER BY event_id FOR UPDATE
