-- From the shelf, so that a dead letter is found behind any history. Only what is shelved has an error.
SELECT
    f.event_id, f.source, coalesce(b.key, '') AS key, f.type, f.lane AS entity, b.occurred_at, f.received_at, f.state, f.run, f.reason, f.error,
    f.message, f.handler, f.line, f.shelved_at, f.due_at, coalesce(r.count, 0) AS redelivered, e.erased_at, b.expired_at
FROM landfast.shelf AS f
LEFT JOIN landfast.body AS b ON b.received_at = f.received_at AND b.event_id = f.event_id
LEFT JOIN landfast.redelivery AS r ON r.event_id = f.event_id
LEFT JOIN landfast.erasure AS e ON e.event_id = f.event_id
WHERE
    ($1::text IS NULL OR f.source = $1)
    AND ($2::text IS NULL OR f.type LIKE $2)
    AND ($3::text IS NULL OR f.lane = $3)
    AND ($4::text IS NULL OR b.key = $4)
    AND ($5::timestamptz IS NULL OR f.received_at >= $5)
    AND ($6::timestamptz IS NULL OR f.received_at < $6)
    AND ($7::text IS NULL OR (f.error <> '' AND f.error LIKE $7))
    AND ($9::timestamptz IS NULL OR (f.received_at, f.event_id) < ($9, $10::bytea))
    AND ($11::text IS NULL OR f.state = $11)
    AND ($12::text IS NULL OR (f.handler <> '' AND f.handler LIKE $12))
    AND ($13::text IS NULL OR (f.line <> '' AND f.line LIKE $13))
    AND ($14::text IS NULL OR (f.reason <> '' AND f.reason LIKE $14))
    AND ($15::text IS NULL OR f.message LIKE $15 OR f.message LIKE ANY ($16::text[])) -- what is sealed is opened later
ORDER BY f.received_at DESC, f.event_id DESC LIMIT $8
