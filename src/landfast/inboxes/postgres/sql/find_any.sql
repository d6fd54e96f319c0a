-- Of one state, or of all: walks through everything that came, newest first. What failed is found on the shelf.
SELECT
    event_id, source, key, type, entity, occurred_at, received_at, state, run, reason, error, message, handler,
    coalesce(failed.line, '') AS line, failed.shelved_at, due_at, redelivered, erased_at, expired_at
FROM landfast.event
LEFT JOIN LATERAL (SELECT f.line, f.shelved_at FROM landfast.shelf AS f WHERE f.event_id = event.event_id) AS failed ON true
WHERE
    ($1::text IS NULL OR source = $1)
    AND ($2::text IS NULL OR type LIKE $2)
    AND ($3::text IS NULL OR entity = $3)
    AND ($4::text IS NULL OR key = $4)
    AND ($5::timestamptz IS NULL OR received_at >= $5)
    AND ($6::timestamptz IS NULL OR received_at < $6)
    AND ($11::text IS NULL OR state = $11)
    AND ($12::text IS NULL OR (reason <> '' AND reason LIKE $12))
    AND $7::text IS NULL AND NOT $13::boolean -- what failed is on the shelf
    AND ($9::timestamptz IS NULL OR (received_at, event_id) < ($9, $10::bytea))
ORDER BY received_at DESC, event_id DESC LIMIT $8
