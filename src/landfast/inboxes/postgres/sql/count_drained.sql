-- Deliveries that come out of a spool or broker, in the transaction that records them. One whose event is here by this
-- very delivery was counted before its drainer died.
INSERT INTO landfast.counted AS t (boot, slot, source, stored, deliveries)
SELECT $1, $2, d.source, 0, count(*)
FROM unnest($3::text[], $4::bytea[], $5::timestamptz[]) AS d (source, event_id, received_at)
WHERE NOT EXISTS (
    SELECT FROM landfast.identity AS i WHERE i.event_id = d.event_id AND i.received_at = d.received_at
)
GROUP BY d.source ORDER BY d.source
ON CONFLICT (boot, slot, source) DO UPDATE SET deliveries = t.deliveries + EXCLUDED.deliveries
