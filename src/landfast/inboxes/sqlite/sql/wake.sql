-- Events that are due become ready, after all that are ready already. The
-- plus keeps the planner from the index by state.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries)
SELECT event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries
FROM shelf
WHERE due_at <= :now AND +state = :state
ORDER BY due_at, event_id
LIMIT :limit
RETURNING body_seq, event_id
