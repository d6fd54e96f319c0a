-- Ready events, oldest first. What is leased or under suspicion is passed over.
UPDATE work
SET token = :token, claimed_at = :now, leased_until = :until
WHERE token IS NULL AND seq IN (
    SELECT seq FROM work WHERE token IS NULL AND suspect = 0 ORDER BY seq LIMIT :limit)
RETURNING seq
