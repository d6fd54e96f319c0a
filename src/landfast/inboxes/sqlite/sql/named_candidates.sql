-- The event, if it waits in one of the :states and has its body: it was neither erased nor has it expired.
SELECT body_seq, event_id, state, reason FROM shelf
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND state IN (SELECT value FROM json_each(:states))
  AND NOT EXISTS (SELECT 1 FROM erasure e WHERE e.event_id = :event_id)
  AND NOT EXISTS (SELECT 1 FROM body b WHERE b.seq = body_seq AND b.expired_at IS NOT NULL)
