-- What waits first in a lane, if it is in the :state and nothing at work holds it up.
SELECT body_seq, event_id FROM (
    SELECT body_seq, event_id, state, place FROM shelf WHERE source = :source AND lane = :lane AND holds
    ORDER BY place LIMIT 1) f
WHERE f.state = :state AND NOT EXISTS (
    SELECT 1 FROM work w WHERE w.source = :source AND w.lane = :lane AND w.holds AND w.place < f.place)
