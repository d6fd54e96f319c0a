WITH done AS (
    SELECT i.event_id, i.received_at, b.source, b.entity AS lane, b.type, newest.run, newest.forced
    FROM landfast.identity AS i
    JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
    CROSS JOIN LATERAL (
        SELECT h.run, h.forced, h.state FROM landfast.history AS h
        WHERE h.received_at = i.received_at AND h.event_id = i.event_id
        ORDER BY h.seq DESC LIMIT 1
    ) AS newest
    WHERE
        i.event_id = ANY ($1::bytea[]) AND newest.state = 'done'
        AND NOT EXISTS (SELECT FROM landfast.erasure AS e WHERE e.event_id = i.event_id)
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, run, forced)
    SELECT event_id, received_at, source, lane, type, run, forced FROM done
    ORDER BY received_at, event_id
    RETURNING event_id, received_at, run, forced
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, was, who)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'recover', 'ready', 'done', $2 FROM ready
)
SELECT count(*) FROM ready
