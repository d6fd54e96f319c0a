-- The oldest whose lease has expired, or that was released while under suspicion. Only a lease that expired while
-- the event was already running alone counts as a crash: before that, a neighbour in its group may be to blame.
-- Two searches, because each has an index of its own: leases and suspects are few behind any backlog.
UPDATE work
SET token = :token, claimed_at = :now, leased_until = :until, suspect = 1, crashes = crashes + (suspect = 1 AND token IS NOT NULL)
WHERE seq = (
    SELECT min(seq) FROM (
        SELECT min(seq) AS seq FROM work WHERE suspect = 1 AND token IS NULL
        UNION ALL
        SELECT min(seq) FROM work INDEXED BY work_leased WHERE token IS NOT NULL AND leased_until <= :now))
RETURNING seq
