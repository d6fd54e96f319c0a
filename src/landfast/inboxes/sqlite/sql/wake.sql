-- Events that are due become ready, after all that are ready already. The
-- plus keeps the planner from the index by state.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries,
                  place, holds)
SELECT event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries, place, holds
FROM shelf
WHERE due_at <= :now AND +state IN (SELECT value FROM json_each(:states))
ORDER BY due_at, event_id
LIMIT :limit
RETURNING body_seq, event_id
