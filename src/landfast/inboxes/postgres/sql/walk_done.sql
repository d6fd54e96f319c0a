-- Apart from `find_any`, because it goes the other way, and brings what a proof asks for.
SELECT
    h.seq, b.event_id, b.source, b.key, b.received_at, h.run, h.forced, h.handlers,
    CASE WHEN h.handlers IS NULL THEN h.attempts END AS attempts
FROM landfast.body AS b
JOIN landfast.identity AS i ON i.event_id = b.event_id AND i.received_at = b.received_at
CROSS JOIN LATERAL (
    SELECT line.seq, line.run, line.forced, line.state, line.handlers, line.attempts FROM landfast.history AS line
    WHERE line.received_at = b.received_at AND line.event_id = b.event_id ORDER BY line.seq DESC LIMIT 1
) AS h
WHERE
    h.state = $11::text
    AND ($1::text IS NULL OR b.source = $1)
    AND ($2::text IS NULL OR b.type LIKE $2)
    AND ($3::text IS NULL OR b.entity = $3)
    AND ($4::text IS NULL OR b.key = $4)
    AND ($5::timestamptz IS NULL OR b.received_at >= $5)
    AND ($6::timestamptz IS NULL OR b.received_at < $6)
    AND $7::text IS NULL -- what is done has no error
    AND ($9::timestamptz IS NULL OR (b.received_at, b.event_id) > ($9, $10::bytea))
ORDER BY b.received_at, b.event_id LIMIT $8
