-- Of the events $1, those whose newest line says one of the states $2, and that were not erased. $3 to $5: signal, state,
-- who. $6: the reason in the line. $7: whether it is the next run, and $8 whether that is forced; the same run is as
-- forced as it was.
WITH moved AS (
    SELECT
        i.event_id, i.received_at, b.source, b.entity AS lane, b.type, newest.run + $7::boolean::integer AS run,
        CASE WHEN $7 THEN $8::boolean ELSE newest.forced END AS forced, newest.state AS was
    FROM landfast.identity AS i
    JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
    CROSS JOIN LATERAL (
        SELECT h.run, h.forced, h.state FROM landfast.history AS h
        WHERE h.received_at = i.received_at AND h.event_id = i.event_id
        ORDER BY h.seq DESC LIMIT 1
    ) AS newest
    WHERE
        i.event_id = ANY ($1::bytea[]) AND newest.state = ANY ($2::text[])
        AND NOT EXISTS (SELECT FROM landfast.erasure AS e WHERE e.event_id = i.event_id)
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, run, forced)
    SELECT event_id, received_at, source, lane, type, run, forced FROM moved
    ORDER BY received_at, event_id
    RETURNING 1
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason, was, who)
    SELECT received_at, event_id, landfast.clock(), run, forced, $3, $4, $6, was, $5 FROM moved
)
SELECT count(*) FROM ready
