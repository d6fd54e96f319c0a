-- By the place and in the state that a `*_candidates` statement has found. The next run begins with :next_tries and no
-- suspicion, and is forced if :forced says so. What waited in one of the :let_pass did not hold its lane, and holds it
-- again, unless a line of an earlier run has one of the signals :passed_by. The second half is `leave_shelf`.
INSERT INTO work (event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries,
                  place, holds)
SELECT event_id, received_at, body_seq, source, type, lane, run + :next_run, iif(:next_run, :forced, forced),
       iif(:next_run, 0, suspect), iif(:next_run, 0, crashes), iif(:next_run, :next_tries, tries), place,
       holds OR (lane IS NOT NULL AND state IN (SELECT value FROM json_each(:let_pass))
                 AND source IN (SELECT o.source FROM ordered_source o)
                 AND (run = 1 OR NOT EXISTS (
                     SELECT 1 FROM history h
                     WHERE h.received_at = shelf.received_at AND h.event_id = shelf.event_id AND h.run < shelf.run
                       AND h.signal IN (SELECT value FROM json_each(:passed_by)))))
FROM shelf
WHERE body_seq = :body_seq AND event_id = :event_id AND state = :was
RETURNING received_at, run
