-- LATERAL and LIMIT, so that each line is looked up by the keys: before the first ANALYZE the planner would hash a table.
SELECT
    h.seq, h.event_id, b.source, b.key, h.run, h.forced, h.handlers, CASE WHEN h.handlers IS NULL THEN h.attempts END AS attempts
FROM landfast.history AS h
CROSS JOIN LATERAL (
    SELECT body.source, body.key FROM landfast.body
    WHERE body.received_at = h.received_at AND body.event_id = h.event_id LIMIT 1
) AS b
WHERE
    h.seq > $1 AND h.seq <= $2 AND h.state = $3
    AND h.seq = (
        SELECT newest.seq FROM landfast.history AS newest
        WHERE newest.received_at = h.received_at AND newest.event_id = h.event_id ORDER BY newest.seq DESC LIMIT 1
    )
ORDER BY h.seq
