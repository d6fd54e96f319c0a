SELECT
    e.event_id, e.source, e.key, e.type, e.entity, e.occurred_at, e.received_at, e.state, e.run, e.reason, e.error,
    e.message, e.handler, coalesce(f.line, '') AS line, f.shelved_at, e.due_at, e.redelivered, e.erased_at, e.expired_at,
    e.headers, e.body,
    coalesce(w.tries, f.tries) AS tries,
    w.token, w.claimed_at, r.at AS came_again
FROM landfast.identity AS i
JOIN landfast.event AS e ON e.received_at = i.received_at AND e.event_id = i.event_id
LEFT JOIN landfast.work AS w ON w.event_id = i.event_id
LEFT JOIN landfast.shelf AS f ON f.event_id = i.event_id
LEFT JOIN landfast.redelivery AS r ON r.event_id = i.event_id
WHERE i.event_id = $1
