-- From the small table, so that what waits is found behind any history.
SELECT
    b.event_id, b.source, b.key, b.type, b.entity, b.occurred_at, b.received_at,
    $11::text AS state,
    w.run, '' AS reason, '' AS error, '' AS message, '' AS handler, '' AS line, NULL::timestamptz AS shelved_at,
    NULL::timestamptz AS due_at,
    coalesce(r.count, 0) AS redelivered, NULL::timestamptz AS erased_at, NULL::timestamptz AS expired_at
FROM landfast.work AS w
JOIN landfast.body AS b ON b.received_at = w.received_at AND b.event_id = w.event_id
LEFT JOIN landfast.redelivery AS r ON r.event_id = w.event_id
WHERE
    ($1::text IS NULL OR b.source = $1)
    AND ($2::text IS NULL OR b.type LIKE $2)
    AND ($3::text IS NULL OR b.entity = $3)
    AND ($4::text IS NULL OR b.key = $4)
    AND ($5::timestamptz IS NULL OR b.received_at >= $5)
    AND ($6::timestamptz IS NULL OR b.received_at < $6)
    AND $7::text IS NULL AND NOT $13::boolean -- what is at work has no error
    AND ($9::timestamptz IS NULL OR (w.received_at, w.event_id) < ($9, $10::bytea))
    AND (w.token IS NOT NULL) = $12
ORDER BY w.received_at DESC, w.event_id DESC LIMIT $8
