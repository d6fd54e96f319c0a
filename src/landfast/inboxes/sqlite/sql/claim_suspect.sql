-- The oldest whose lease has expired, or that was released while under suspicion. Only a lease that expired while
-- the event was already running alone counts as a crash: before that, a neighbour in its group may be to blame.
UPDATE work
SET token = :token, leased_until = :until, suspect = 1, crashes = crashes + (suspect = 1 AND token IS NOT NULL)
WHERE seq = (
    SELECT seq FROM work
    WHERE (token IS NULL AND suspect = 1) OR leased_until <= :now
    ORDER BY seq
    LIMIT 1)
RETURNING seq
