SELECT own.place, (
    SELECT first.event_id FROM (
        (
            SELECT w.place, w.event_id FROM landfast.work AS w
            WHERE w.source = own.source AND w.lane = own.lane AND w.holds AND w.place < own.place
            ORDER BY w.place LIMIT 1
        )
        UNION ALL
        (
            SELECT f.place, f.event_id FROM landfast.shelf AS f
            WHERE f.source = own.source AND f.lane = own.lane AND f.holds AND f.place < own.place
            ORDER BY f.place LIMIT 1
        )
    ) AS first
    ORDER BY first.place LIMIT 1
) AS behind
FROM (
    SELECT source, lane, place FROM landfast.work WHERE event_id = $1 AND holds
    UNION ALL
    SELECT source, lane, place FROM landfast.shelf WHERE event_id = $1 AND holds
) AS own
