-- The state is the predicate of the index, as in `requeue_candidates`.
SELECT ctid AS place FROM landfast.shelf
WHERE state = 'parked' AND reason = ANY ($1::text[])
ORDER BY received_at, event_id
FOR UPDATE SKIP LOCKED
