-- $1 and $2 are those that have just been performed, each once. $3 is `waiting`; $4 is what one becomes that waits for
-- nothing else any more, and $5 what it becomes if it has a time. Locked in order: whoever frees the same ones waits.
WITH fewer AS (
    SELECT gone.key, gone.run, count(*) AS ended
    FROM unnest($1::text[], $2::integer[]) AS done (key, run)
    JOIN landfast_ledger.effect_wait AS gone ON gone.awaited = done.key AND gone.run = done.run
    GROUP BY gone.key, gone.run
), locked AS (
    SELECT effect.seq, fewer.ended
    FROM landfast_ledger.effect AS effect
    JOIN fewer ON fewer.key = effect.key AND fewer.run = effect.run
    WHERE effect.state = $3
    ORDER BY effect.seq
    FOR UPDATE OF effect
)
UPDATE landfast_ledger.effect AS effect
SET waits = effect.waits - locked.ended,
    state = CASE
        WHEN effect.waits > locked.ended THEN effect.state WHEN effect.starts_at IS NULL THEN $4 ELSE $5
    END,
    due_at = CASE
        WHEN effect.waits > locked.ended THEN effect.due_at
        ELSE greatest(effect.starts_at, landfast_ledger.clock())
    END
FROM locked
WHERE effect.seq = locked.seq AND effect.state = $3
