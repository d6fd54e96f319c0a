-- Effects that stand for an event that has come, if they are in one of the states $4. $5 is `done`. Locked in order, as steps are.
WITH locked AS (
    SELECT effect.seq, given.result
    FROM unnest($1::text[], $2::integer[], $3::bytea[]) AS given (key, run, result)
    JOIN landfast_ledger.effect AS effect ON effect.key = given.key AND effect.run = given.run
    WHERE effect.state = ANY($4::text[])
    ORDER BY effect.seq
    FOR UPDATE OF effect
)
UPDATE landfast_ledger.effect AS effect
SET state = $5, token = NULL, due_at = landfast_ledger.clock(), done_at = landfast_ledger.clock(),
    error = '', message = '', trace = '', result = locked.result
FROM locked
WHERE effect.seq = locked.seq AND effect.state = ANY($4::text[])
RETURNING effect.key, effect.run
