-- Those between two places in the table that are over: $3 is `done` and $4 its age in seconds, $5 is `dead` and $6 its age.
-- What another one still waits for, or takes the result of, stays; except for the dead, with whom goes what waits for
-- them ($7 is `waiting`). OFFSET 0 has the server look each up by its key: without it, it reads whole
-- tables into a hash, at every step.
WITH gone AS (
    DELETE FROM landfast_ledger.effect AS effect
    WHERE effect.ctid >= $1::tid AND effect.ctid < $2::tid
        AND (
            (
                effect.state = $3 AND effect.done_at < landfast_ledger.clock() - make_interval(secs => $4)
                AND NOT EXISTS (
                    SELECT FROM landfast_ledger.effect_wait AS later
                    WHERE later.awaited = effect.key AND later.run = effect.run
                    OFFSET 0
                )
            )
            OR (effect.state = $5 AND effect.done_at < landfast_ledger.clock() - make_interval(secs => $6))
            OR (
                effect.state = $7 AND EXISTS (
                    SELECT FROM landfast_ledger.effect_wait AS earlier
                    WHERE earlier.key = effect.key AND earlier.run = effect.run
                        AND NOT EXISTS (
                            SELECT FROM landfast_ledger.effect AS awaited
                            WHERE awaited.key = earlier.awaited AND awaited.run = earlier.run
                            OFFSET 0
                        )
                    OFFSET 0
                )
            )
        )
    RETURNING effect.key, effect.run
), unawaited AS (
    DELETE FROM landfast_ledger.effect_wait AS later
    USING gone
    WHERE later.key = gone.key AND later.run = gone.run
)
SELECT count(*) AS count FROM gone
