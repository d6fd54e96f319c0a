-- By the :states of the shelf that say that a lane waits; :queued is the one in which events are queued, :ready and
-- :claimed those of what is at work.
SELECT l.source, l.lane, l.waiting, f.place, f.event_id, f.state, f.shelved_at, f.handler, f.reason, f.error,
       w.place, w.event_id, iif(w.token IS NULL, :ready, :claimed), w.claimed_at
FROM (
    SELECT source, lane, sum(state = :queued) AS waiting
    FROM shelf
    WHERE holds AND state IN (SELECT value FROM json_each(:states))
    GROUP BY source, lane
    ORDER BY waiting DESC, source, lane
    LIMIT :limit) l
JOIN shelf f ON f.source = l.source AND f.lane = l.lane AND f.holds AND f.place = (
    SELECT min(e.place) FROM shelf e WHERE e.source = l.source AND e.lane = l.lane AND e.holds)
LEFT JOIN work w ON w.source = l.source AND w.lane = l.lane AND w.holds AND w.place = (
    SELECT min(e.place) FROM work e WHERE e.source = l.source AND e.lane = l.lane AND e.holds)
ORDER BY l.waiting DESC, l.source, l.lane
