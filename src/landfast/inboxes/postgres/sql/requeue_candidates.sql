-- The state is the predicate of the index: as a parameter it would be proven at best in a plan of its own.
SELECT ctid AS place, run FROM landfast.shelf
WHERE state = 'unhandled' AND source = $1 AND type = $2
ORDER BY received_at DESC, event_id DESC LIMIT $3
FOR UPDATE SKIP LOCKED
