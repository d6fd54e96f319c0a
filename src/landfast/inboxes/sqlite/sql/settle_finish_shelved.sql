-- The same for one that a zombie finished while it waited.
DELETE FROM shelf
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND run = :run AND state IN ('delayed', 'unhandled', 'paused')
RETURNING received_at
