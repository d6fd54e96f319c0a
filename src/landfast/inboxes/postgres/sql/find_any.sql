-- Of one state, or of all: walks through everything that came, newest first.
SELECT
    event_id, source, key, type, entity, occurred_at, received_at, state, run, reason, error, message, handler, due_at,
    redelivered, erased_at
FROM landfast.event
WHERE
    ($1::text IS NULL OR source = $1)
    AND ($2::text IS NULL OR type LIKE $2)
    AND ($3::text IS NULL OR entity = $3)
    AND ($4::text IS NULL OR key = $4)
    AND ($5::timestamptz IS NULL OR received_at >= $5)
    AND ($6::timestamptz IS NULL OR received_at < $6)
    AND ($7::text IS NULL OR (error <> '' AND error LIKE $7))
    AND ($11::text IS NULL OR state = $11)
    AND ($9::timestamptz IS NULL OR (received_at, event_id) < ($9, $10::bytea))
ORDER BY received_at DESC, event_id DESC LIMIT $8
