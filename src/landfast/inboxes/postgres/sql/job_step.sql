-- In the transaction that replayed $2 of the $3 events that were looked at.
UPDATE landfast.job
SET
    replayed = replayed + $2, looked_at = looked_at + $3, cursor_at = $4, cursor_id = $5, canaries = $6::bytea[],
    is_proven = $7, updated_at = landfast.clock()
WHERE id = $1
