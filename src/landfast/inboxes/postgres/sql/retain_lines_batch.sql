SELECT received_at, event_id, seq FROM landfast.history
WHERE NOT kept AND received_at >= $1 AND received_at < $2 AND (received_at, event_id, seq) > ($3, $4::bytea, $5::bigint)
ORDER BY received_at, event_id, seq LIMIT $6
