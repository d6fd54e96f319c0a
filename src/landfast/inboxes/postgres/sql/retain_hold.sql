-- At the beginning of each step, and in its transaction: two who both believe that it is their turn wait here, and the
-- second one finds that it is not. No step takes long, so a holder that is silent for a minute is gone.
-- Without a commit that waits: lost in a crash, the step is made again.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
)
UPDATE landfast.retention
SET held_until = greatest(held_until, landfast.clock() + interval '1 minute')
FROM lazily
WHERE holder = $1 AND held_until > landfast.clock() AND setting = 'off'
RETURNING began_at, landfast.clock() AS now
