-- What waits in a lane before the place :bound, in order, :limit at most.
SELECT body_seq, event_id, state, suspect FROM shelf
WHERE source = :source AND lane = :lane AND holds AND (:bound IS NULL OR place < :bound)
ORDER BY place
LIMIT :limit
