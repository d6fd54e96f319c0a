-- Under :any_token or none; otherwise the token must be the event's. The lease ends, and what was tried is kept.
UPDATE work SET token = NULL, leased_until = NULL, tries = coalesce(:tries, tries), holds = holds AND NOT :is_passed
WHERE event_id = :event_id AND run = :run AND (:any_token OR token = :token)
RETURNING received_at, run, source, iif(:is_passed, lane, NULL)
