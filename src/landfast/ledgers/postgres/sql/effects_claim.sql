UPDATE landfast_effect
SET state = 'claimed',
    token = $1,
    due_at = landfast_clock() + make_interval(secs => $2),
    suspect = suspect OR state = 'claimed',
    crashes = crashes + (state = 'claimed')::integer
WHERE done_at IS NULL AND due_at <= landfast_clock() AND seq = ANY(ARRAY(
    SELECT seq FROM landfast_effect
    WHERE done_at IS NULL AND due_at <= landfast_clock()
    ORDER BY due_at, seq
    LIMIT $3
    FOR UPDATE SKIP LOCKED
))
RETURNING seq, key, run, digest, handler, name, arguments, context, tries_count, tries_spent, suspect, crashes
