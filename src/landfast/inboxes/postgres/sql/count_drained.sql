-- Deliveries that come out of a spool or broker, in the transaction that records them. One whose event is here by this
-- very delivery came in before: its drainer died after that, or the answer to an intake's COMMIT was late.
INSERT INTO landfast.counted AS t (boot, slot, source, stored, deliveries, again)
SELECT $1, $2, d.source, 0, count(*) - count(i.is_here), count(i.is_here)
FROM unnest($3::text[], $4::bytea[], $5::timestamptz[]) AS d (source, event_id, received_at)
LEFT JOIN LATERAL (
    SELECT true AS is_here FROM landfast.identity
    WHERE identity.event_id = d.event_id AND identity.received_at = d.received_at LIMIT 1
) AS i ON true
GROUP BY d.source ORDER BY d.source
ON CONFLICT (boot, slot, source) DO UPDATE SET
    deliveries = t.deliveries + EXCLUDED.deliveries, again = t.again + EXCLUDED.again
