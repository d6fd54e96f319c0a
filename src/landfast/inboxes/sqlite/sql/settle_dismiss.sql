-- Done without a handler: by the holder of the token only, because no receipt has decided it.
DELETE FROM work WHERE event_id = :event_id AND run = :run AND token = :token
RETURNING received_at
