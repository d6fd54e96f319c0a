-- What can be erased now: known, not erased before, and in nobody's hands.
SELECT i.event_id, i.received_at, i.seq
FROM identity i
WHERE i.event_id = ?
  AND NOT EXISTS (SELECT 1 FROM erasure e WHERE e.event_id = i.event_id)
  AND NOT EXISTS (SELECT 1 FROM work w WHERE w.event_id = i.event_id AND w.token IS NOT NULL)
