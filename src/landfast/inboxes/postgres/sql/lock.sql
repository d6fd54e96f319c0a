-- A done event has no row of its own to lock, so operators meet at its identity. The statement after this one sees
-- what the last of them left.
SELECT FROM landfast.identity WHERE event_id = ANY ($1::bytea[]) ORDER BY event_id FOR UPDATE
