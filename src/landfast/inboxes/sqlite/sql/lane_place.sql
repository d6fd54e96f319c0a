SELECT own.place, (
    SELECT event_id FROM (
        SELECT place, event_id FROM work w
        WHERE w.source = own.source AND w.lane = own.lane AND w.holds AND w.place < own.place
        UNION ALL
        SELECT place, event_id FROM shelf f
        WHERE f.source = own.source AND f.lane = own.lane AND f.holds AND f.place < own.place)
    ORDER BY place LIMIT 1)
FROM (
    SELECT source, lane, place FROM work WHERE event_id = :event_id AND holds
    UNION ALL
    SELECT source, lane, place FROM shelf
    WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id AND holds) own
