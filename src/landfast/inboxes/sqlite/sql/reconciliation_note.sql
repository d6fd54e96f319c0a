UPDATE reconciliation
SET held_until = :held_until, place = :place, listed = :listed, missing = :missing, taken = :taken
WHERE source = :source AND token = :token
RETURNING 1
