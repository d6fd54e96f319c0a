-- The places in the list of those that are as they were found: at work nowhere, in the same state, with no line added.
-- Asked under the lock, so nothing changes between this and their removal.
SELECT json_group_array(o.key)
FROM (
    SELECT key, value ->> 0 AS seq, unhex(value ->> 1) AS event_id, value ->> 2 AS received_at, value ->> 3 AS state,
           value ->> 4 AS line, value ->> 5 AS is_whole
    FROM json_each(:old)
) AS o
JOIN identity i ON i.event_id = o.event_id AND i.seq = o.seq
JOIN body b ON b.seq = o.seq
WHERE (o.is_whole OR b.expired_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM work w WHERE w.event_id = o.event_id)
  AND o.line = (
      SELECT coalesce(max(n.seq), 0) FROM history n WHERE n.received_at = o.received_at AND n.event_id = o.event_id)
  AND o.state = coalesce(
      (SELECT s.state FROM shelf s WHERE s.body_seq = o.seq AND s.event_id = o.event_id),
      (SELECT h.state FROM history h WHERE h.seq = o.line))
