-- The state is the predicate of the index, as in `requeue_candidates`.
SELECT body_seq, event_id, state, reason FROM shelf
WHERE state = 'parked' AND reason = :reason
ORDER BY received_at, event_id
