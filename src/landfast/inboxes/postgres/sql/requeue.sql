-- By ctid: by their random ids, each would be looked for in a page of its own. The lock keeps place and state as they
-- were found, so no other guard is needed, and none may lead the planner to another index.
-- Lost in a crash, they are unhandled as before, and the next worker that looks takes them up.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
matched AS (
    DELETE FROM landfast.shelf
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM landfast.shelf
        WHERE state = 'unhandled' AND source = $1 AND type = $2
        ORDER BY received_at DESC, event_id DESC LIMIT $3
        FOR UPDATE SKIP LOCKED
    ))
    RETURNING *
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'requeue', 'ready' FROM matched
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries)
    SELECT event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries FROM matched
    ORDER BY received_at DESC, event_id DESC
    RETURNING 1
)
SELECT count(*) FROM ready CROSS JOIN lazily WHERE setting = 'off'
