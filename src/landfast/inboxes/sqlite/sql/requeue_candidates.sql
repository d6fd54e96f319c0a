-- The state is the predicate of the index: no parameter proves it.
SELECT body_seq, event_id, state, reason FROM shelf
WHERE state = 'unhandled' AND source = :source AND type = :type
ORDER BY received_at DESC, event_id DESC
LIMIT :limit
