-- The next :window events that came before :before, oldest first, and what each has come to: the state that it waits in,
-- or that its newest line tells; none while it is at work. And the number and time of that line, or when it came. All of
-- it in one row: between two rows, a thread that computes may keep Python to itself for 5 ms.
SELECT json_group_array(json_array(seq, hex(event_id), received_at, source, is_empty, size, state, line, at))
FROM (
    SELECT b.seq, b.event_id, b.received_at, b.source, b.is_empty, b.size,
           CASE WHEN EXISTS (SELECT 1 FROM work w WHERE w.event_id = b.event_id) THEN NULL
                ELSE coalesce(s.state, h.state) END AS state,
           coalesce(h.seq, 0) AS line, coalesce(h.at, b.received_at) AS at
    FROM (
        SELECT seq, event_id, received_at, source, expired_at IS NOT NULL AS is_empty, length(body) AS size FROM body
        WHERE (received_at, event_id) > (:after_at, :after_id) AND received_at < :before
        ORDER BY received_at, event_id
        LIMIT :window
    ) AS b
    LEFT JOIN history h ON h.seq = (
        SELECT max(n.seq) FROM history n WHERE n.received_at = b.received_at AND n.event_id = b.event_id)
    LEFT JOIN shelf s ON s.body_seq = b.seq AND s.event_id = b.event_id
    ORDER BY b.received_at, b.event_id
)
