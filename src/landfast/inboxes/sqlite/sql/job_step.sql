-- In the transaction that replayed so many.
UPDATE job
SET replayed = replayed + :replayed, looked_at = looked_at + :looked_at, cursor_at = :cursor_at, cursor_id = :cursor_id,
    canaries = :canaries, is_proven = :is_proven, updated_at = :now
WHERE id = :id
