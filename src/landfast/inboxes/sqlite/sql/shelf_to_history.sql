-- A run that is not given is any.
DELETE FROM shelf
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND run = coalesce(:run, run) AND state IN (SELECT value FROM json_each(:states))
RETURNING received_at, run, source, iif(holds, lane, NULL)
