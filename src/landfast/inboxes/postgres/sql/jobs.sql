-- Those in the state $3 first, then all others, the newest first; or the job $2 alone.
SELECT
    id, state, plan, is_background, created_at, updated_at, looked_at, replayed, cursor_at, cursor_id, canaries, is_proven,
    message, coalesce(leased_until > landfast.clock(), false) AS is_carried
FROM landfast.job
WHERE $2::bytea IS NULL OR id = $2
ORDER BY state = $3 DESC, created_at DESC, id LIMIT $1
