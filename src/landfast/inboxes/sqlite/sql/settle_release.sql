UPDATE work SET token = NULL, leased_until = NULL, tries = coalesce(:tries, tries)
WHERE event_id = :event_id AND run = :run AND token = :token
RETURNING received_at
