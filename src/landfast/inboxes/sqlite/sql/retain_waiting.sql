-- The next :window known events by id, and the names of those that wait or work and did not come before :before: those
-- are named already. One that is moved from one table to the other is in one of them, whenever this is asked. Neither
-- table is in an order that lasts through a move; what is known is. Only what is named has its body looked up.
SELECT i.event_id, b.source, b.key
FROM (
    SELECT k.event_id,
           iif(k.received_at >= :before
               AND (EXISTS (SELECT 1 FROM work w WHERE w.event_id = k.event_id)
                    OR EXISTS (SELECT 1 FROM shelf s WHERE s.body_seq = k.seq AND s.event_id = k.event_id)),
               k.seq, NULL) AS body_seq
    FROM (SELECT event_id, received_at, seq FROM identity WHERE event_id > :after_id ORDER BY event_id LIMIT :window) AS k
) AS i
LEFT JOIN body b ON b.seq = i.body_seq
ORDER BY i.event_id
