-- By event and run, because a receipt has decided while it waited.
DELETE FROM shelf
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND run = :run AND state IN (SELECT value FROM json_each(:states))
RETURNING received_at, run
