-- Of all states: what an event is in need not be known, which is most of what `find_any` looks up.
SELECT count(*) FROM (
    SELECT FROM landfast.body AS b
    CROSS JOIN LATERAL (
        SELECT FROM landfast.identity AS i WHERE i.event_id = b.event_id AND i.received_at = b.received_at LIMIT 1
    ) AS current
    WHERE
        ($1::text IS NULL OR b.source = $1)
        AND ($2::text IS NULL OR b.type LIKE $2)
        AND ($3::text IS NULL OR b.entity = $3)
        AND ($4::text IS NULL OR b.key = $4)
        AND ($5::timestamptz IS NULL OR b.received_at >= $5)
        AND ($6::timestamptz IS NULL OR b.received_at < $6)
    LIMIT $7
) AS found
