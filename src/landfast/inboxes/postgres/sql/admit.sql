-- The line of history keeps what it was held for: on the shelf it is gone.
WITH admitted AS (
    DELETE FROM landfast.shelf WHERE event_id = ANY ($1::bytea[]) AND state = 'held' RETURNING *
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason, who)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'admit', 'ready', reason, $2 FROM admitted
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, run, forced)
    SELECT event_id, received_at, source, lane, type, run, forced FROM admitted
    ORDER BY received_at, event_id
    RETURNING 1
)
SELECT count(*) FROM ready
