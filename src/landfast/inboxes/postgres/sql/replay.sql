WITH done AS (
    SELECT i.event_id, i.received_at, b.source, b.entity AS lane, b.type, newest.run
    FROM landfast.identity AS i
    JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
    CROSS JOIN LATERAL (
        SELECT h.run, h.state FROM landfast.history AS h
        WHERE h.received_at = i.received_at AND h.event_id = i.event_id
        ORDER BY h.seq DESC LIMIT 1
    ) AS newest
    WHERE
        i.event_id = ANY ($1::bytea[]) AND newest.state = 'done'
        AND NOT EXISTS (SELECT FROM landfast.erasure AS e WHERE e.event_id = i.event_id)
),
shelved AS (
    DELETE FROM landfast.shelf
    WHERE
        event_id = ANY ($1::bytea[]) AND state IN ('dead', 'unhandled')
        AND NOT EXISTS (SELECT FROM landfast.erasure AS e WHERE e.event_id = shelf.event_id)
    RETURNING event_id, received_at, source, lane, type, run
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, run, forced)
    SELECT event_id, received_at, source, lane, type, run + 1, $2
    FROM (SELECT * FROM done UNION ALL SELECT * FROM shelved) AS replayed
    ORDER BY received_at, event_id
    RETURNING event_id, received_at, run, forced
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, was, who)
    SELECT
        received_at, event_id, landfast.clock(), run, forced, 'replay', 'ready',
        CASE WHEN event_id IN (SELECT event_id FROM done) THEN 'done' ELSE '' END, $3
    FROM ready
)
SELECT count(*) FROM ready
