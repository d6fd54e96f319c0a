-- $1: the states of the shelf by which a lane is found; $2: the one in which events are queued; $3 and $4: those of what is
-- at work, without a token and with one.
SELECT l.source, l.lane, l.waiting, first.*
FROM (
    SELECT f.source, f.lane, count(*) FILTER (WHERE f.state = $2) AS waiting
    FROM landfast.shelf AS f
    WHERE f.holds AND f.state = ANY ($1::text[])
    GROUP BY f.source, f.lane
    ORDER BY waiting DESC, f.source, f.lane LIMIT $5
) AS l
CROSS JOIN LATERAL (
    SELECT * FROM (
        (
            SELECT f.place, f.event_id, f.state, f.shelved_at AS since, f.handler, f.reason, f.error
            FROM landfast.shelf AS f
            WHERE f.source = l.source AND f.lane = l.lane AND f.holds
            ORDER BY f.place LIMIT 1
        )
        UNION ALL
        (
            SELECT w.place, w.event_id, CASE WHEN w.token IS NULL THEN $3 ELSE $4 END, w.claimed_at, '', '', ''
            FROM landfast.work AS w
            WHERE w.source = l.source AND w.lane = l.lane AND w.holds
            ORDER BY w.place LIMIT 1
        )
    ) AS either
    ORDER BY place LIMIT 1
) AS first
ORDER BY l.waiting DESC, l.source, l.lane
