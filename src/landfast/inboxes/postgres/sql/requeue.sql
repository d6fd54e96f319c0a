WITH matched AS (
    DELETE FROM landfast.shelf
    WHERE event_id = ANY (ARRAY(
        SELECT event_id FROM landfast.shelf
        WHERE state = 'unhandled' AND source = $1 AND type = $2
        ORDER BY received_at DESC, event_id DESC LIMIT $3
        FOR UPDATE SKIP LOCKED
    )) AND state = 'unhandled'
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
SELECT count(*) FROM ready
