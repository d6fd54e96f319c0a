-- This very event, if it is ready, or if its lease has expired.
UPDATE work
SET token = :token, claimed_at = :now, leased_until = :until
WHERE event_id = :event_id AND (token IS NULL OR leased_until <= :now)
RETURNING seq
