-- Under :any_token or none; otherwise the token must be the event's. Its lane, if it held one in which something waits.
DELETE FROM work WHERE event_id = :event_id AND run = :run AND (:any_token OR token = :token)
RETURNING received_at, run, source, iif(
    holds AND EXISTS (SELECT 1 FROM shelf s WHERE s.source = work.source AND s.lane = work.lane AND s.holds), lane, NULL)
