-- What decides about each event. None for one that has left already, and no state for one that is at work. Each is looked
-- up by LATERAL and LIMIT: before the first ANALYZE the planner would hash whole tables. $3 and $4 are the first and the
-- last arrival: so all other weeks are left out when it is planned, which took three times as long as to run it.
SELECT
    d.received_at, d.event_id, b.source, b.is_expired,
    CASE WHEN w.is_at_work THEN NULL ELSE coalesce(f.state, h.state) END AS state,
    extract(epoch FROM landfast.clock() - coalesce(h.at, d.received_at))::float8 AS age,
    coalesce(h.seq, 0) AS newest_line
FROM unnest($1::timestamptz[], $2::bytea[]) AS d (received_at, event_id)
CROSS JOIN LATERAL (
    SELECT i.event_id FROM landfast.identity AS i
    WHERE i.event_id = d.event_id AND i.received_at = d.received_at LIMIT 1
) AS known
CROSS JOIN LATERAL (
    SELECT body.source, body.expired_at IS NOT NULL AS is_expired FROM landfast.body
    WHERE
        body.received_at = d.received_at AND body.event_id = d.event_id
        AND body.received_at >= $3 AND body.received_at <= $4
    LIMIT 1
) AS b
LEFT JOIN LATERAL (
    SELECT true AS is_at_work FROM landfast.work WHERE work.event_id = d.event_id LIMIT 1
) AS w ON true
LEFT JOIN LATERAL (SELECT shelf.state FROM landfast.shelf WHERE shelf.event_id = d.event_id LIMIT 1) AS f ON true
LEFT JOIN LATERAL (
    SELECT line.state, line.at, line.seq FROM landfast.history AS line
    WHERE
        line.received_at = d.received_at AND line.event_id = d.event_id
        AND line.received_at >= $3 AND line.received_at <= $4
    ORDER BY line.seq DESC LIMIT 1
) AS h ON true
