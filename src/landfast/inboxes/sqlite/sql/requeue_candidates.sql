SELECT body_seq, event_id FROM shelf
WHERE state = 'unhandled' AND source = :source AND type = :type
ORDER BY received_at DESC, event_id DESC
LIMIT :limit
