-- Under :any_token or none; otherwise the token must be the event's.
DELETE FROM work WHERE event_id = :event_id AND run = :run AND (:any_token OR token = :token)
RETURNING received_at, run, source, iif(holds, lane, NULL)
