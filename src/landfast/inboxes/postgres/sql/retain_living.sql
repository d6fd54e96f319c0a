SELECT b.received_at, b.event_id, b.source, b.key
FROM landfast.body AS b
JOIN landfast.identity AS i ON i.event_id = b.event_id AND i.received_at = b.received_at
WHERE
    b.received_at < landfast.clock() - make_interval(secs => $1)
    AND (b.received_at, b.event_id) > ($2, $3::bytea)
ORDER BY b.received_at, b.event_id LIMIT $4
