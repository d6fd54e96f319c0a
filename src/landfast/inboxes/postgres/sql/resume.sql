WITH free AS (
    DELETE FROM landfast.shelf
    WHERE event_id = ANY (ARRAY(
        SELECT f.event_id FROM landfast.shelf AS f
        WHERE
            f.state = 'paused'
            AND NOT EXISTS (
                SELECT FROM landfast.switch AS s
                WHERE s.kind || ':' || s.name = f.reason AND (s.until IS NULL OR s.until > landfast.clock())
            )
        ORDER BY f.received_at, f.event_id LIMIT $1
        FOR UPDATE SKIP LOCKED
    )) AND state = 'paused'
    RETURNING *
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'resume', 'ready', reason FROM free
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries)
    SELECT event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries FROM free
    ORDER BY received_at, event_id
    RETURNING 1
)
SELECT count(*) FROM ready
