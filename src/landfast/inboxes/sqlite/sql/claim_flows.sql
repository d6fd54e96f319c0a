UPDATE work
SET token = :token, claimed_at = :now, leased_until = :until
WHERE token IS NULL AND seq IN (SELECT value FROM json_each(:places))
RETURNING seq
