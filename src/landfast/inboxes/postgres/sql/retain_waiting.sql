-- What waits or works and is not among those that came $1 seconds ago, by id: one that is moved from one table to the
-- other is in one of them, whenever this is asked. Each body is looked up by itself, in the week that it came in.
SELECT w.event_id, b.source, b.key
FROM (
    (SELECT event_id, received_at FROM landfast.work WHERE event_id > $2::bytea ORDER BY event_id LIMIT $3)
    UNION ALL
    (SELECT event_id, received_at FROM landfast.shelf WHERE event_id > $2 ORDER BY event_id LIMIT $3)
    ORDER BY event_id LIMIT $3
) AS w
LEFT JOIN LATERAL (
    SELECT body.source, body.key FROM landfast.body
    WHERE
        body.received_at = w.received_at AND body.event_id = w.event_id
        AND w.received_at >= landfast.clock() - make_interval(secs => $1)
    LIMIT 1
) AS b ON true
ORDER BY w.event_id
