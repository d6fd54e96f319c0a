-- The next :window events that came before :before, whatever became of them.
SELECT source, key, received_at, event_id FROM body
WHERE (received_at, event_id) > (:after_at, :after_id) AND received_at < :before
ORDER BY received_at, event_id
LIMIT :window
