SELECT received_at, event_id FROM landfast.body
WHERE kept = $1 AND received_at >= $2 AND received_at < $3 AND (received_at, event_id) > ($4, $5::bytea)
ORDER BY received_at, event_id LIMIT $6
