-- Out of its lane's queue, with a token or without one, and as old as it was. The second half is `leave_shelf`.
INSERT INTO work (seq, event_id, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries,
                  place, holds, token, claimed_at, leased_until)
SELECT iif(EXISTS (SELECT 1 FROM work w WHERE w.seq = shelf.seq), NULL, seq), event_id, received_at, body_seq, source,
       type, lane, run, forced, suspect, crashes, tries, place, holds, :token, :now, :until
FROM shelf
WHERE body_seq = :body_seq AND event_id = :event_id
RETURNING seq
