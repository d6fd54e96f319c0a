-- The job $1, or the oldest that a worker may carry out, if it is in the state $4 and nobody carries it out.
UPDATE landfast.job
SET token = $2, leased_until = landfast.clock() + make_interval(secs => $3)
WHERE id = (
    SELECT id FROM landfast.job
    WHERE
        (id = $1 OR ($1::bytea IS NULL AND is_background)) AND state = $4
        AND (leased_until IS NULL OR leased_until <= landfast.clock())
    ORDER BY created_at, id LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING
    id, state, plan, is_background, created_at, updated_at, looked_at, replayed, cursor_at, cursor_id, canaries, is_proven,
    message, true AS is_carried
