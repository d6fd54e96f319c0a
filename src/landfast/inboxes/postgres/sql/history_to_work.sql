-- Of the events $1, those whose newest line says one of the states $2, and whose content was neither erased nor expired. $3 to $5: signal, state,
-- who. $6: the reason in the line. $7: whether it is the next run, and $8 whether that is forced; the same run is as
-- forced as it was. $9: the tries that it begins with. $10: whether its lane waits for it again.
WITH moved AS (
    SELECT
        i.event_id, i.received_at, b.source, b.entity AS lane, b.type, newest.run + $7::boolean::integer AS run,
        CASE WHEN $7 THEN $8::boolean ELSE newest.forced END AS forced, newest.state AS was,
        coalesce(b.place, landfast.place_of(b.occurred_at, b.received_at)) AS place,
        $10::boolean AND b.entity IS NOT NULL AND b.source IN (SELECT o.source FROM landfast.ordered_source AS o) AS holds
    FROM landfast.identity AS i
    JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
    CROSS JOIN LATERAL (
        SELECT h.run, h.forced, h.state FROM landfast.history AS h
        WHERE h.received_at = i.received_at AND h.event_id = i.event_id
        ORDER BY h.seq DESC LIMIT 1
    ) AS newest
    WHERE
        i.event_id = ANY ($1::bytea[]) AND newest.state = ANY ($2::text[])
        AND b.expired_at IS NULL
        AND NOT EXISTS (SELECT FROM landfast.erasure AS e WHERE e.event_id = i.event_id)
),
ready AS (
    INSERT INTO landfast.work (event_id, received_at, source, lane, type, run, forced, tries, place, holds)
    SELECT event_id, received_at, source, lane, type, run, forced, $9::bytea, place, holds FROM moved
    ORDER BY received_at, event_id
    RETURNING 1
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason, was, who, kept)
    SELECT received_at, event_id, landfast.clock(), run, forced, $3, $4, $6, was, $5,
        NOT (
            received_at >= (SELECT history_from FROM landfast.weeks)
            AND received_at < (SELECT history_until FROM landfast.weeks)
        )
    FROM moved
)
SELECT count(*) FROM ready
