-- The same for one that a zombie finished while it waited.
DELETE FROM shelf WHERE event_id = :event_id AND run = :run AND state IN ('delayed', 'unhandled', 'paused')
RETURNING received_at
