-- The server takes two equal columns for a rare coincidence, expected one row of this join, and walked through everything
-- that ever came to list the newest fifty. With a limit it is asked of each event by itself.
CREATE OR REPLACE VIEW landfast.event AS
SELECT
    b.event_id, b.source, b.key, b.type, b.entity, b.occurred_at, b.received_at, b.headers, b.body,
    CASE
        WHEN w.event_id IS NULL THEN coalesce(f.state, newest.state)
        WHEN w.token IS NULL THEN 'ready'
        ELSE 'claimed'
    END AS state,
    coalesce(w.run, f.run, newest.run) AS run,
    coalesce(f.reason, newest.reason, '') AS reason,
    coalesce(f.error, '') AS error,
    coalesce(f.message, '') AS message,
    coalesce(f.handler, '') AS handler,
    f.due_at,
    coalesce(r.count, 0) AS redelivered,
    e.erased_at,
    b.expired_at
FROM landfast.body AS b
CROSS JOIN LATERAL (
    SELECT FROM landfast.identity AS i WHERE i.event_id = b.event_id AND i.received_at = b.received_at LIMIT 1
) AS current
LEFT JOIN landfast.work AS w ON w.event_id = b.event_id
LEFT JOIN landfast.shelf AS f ON f.event_id = b.event_id
LEFT JOIN landfast.redelivery AS r ON r.event_id = b.event_id
LEFT JOIN landfast.erasure AS e ON e.event_id = b.event_id
LEFT JOIN LATERAL (
    SELECT h.state, h.run, h.reason FROM landfast.history AS h
    WHERE h.received_at = b.received_at AND h.event_id = b.event_id AND w.event_id IS NULL AND f.event_id IS NULL
    ORDER BY h.seq DESC LIMIT 1
) AS newest ON true;
