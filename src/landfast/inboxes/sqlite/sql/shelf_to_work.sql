-- By the place and in the state that a `*_candidates` statement has found. The next run has fresh tries, no suspicion, and is forced if
-- :forced says so. The second half is `leave_shelf`.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries)
SELECT event_id, received_at, body_seq, source, type, lane, run + :next_run, iif(:next_run, :forced, forced),
       iif(:next_run, 0, suspect), iif(:next_run, 0, crashes), iif(:next_run, '{}', tries)
FROM shelf
WHERE body_seq = :body_seq AND event_id = :event_id AND state = :was
RETURNING received_at, run
