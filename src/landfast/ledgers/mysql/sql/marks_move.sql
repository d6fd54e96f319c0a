-- Locks each mark, moves it up and never down, and keeps where it was. MySQL assigns from left to right.
INSERT INTO landfast_lane_mark (lane, handler, place, moved_at)
VALUES
-- for each
(%(lane)s, %(handler)s, %(place)s, UTC_TIMESTAMP(6))
-- so far
ON DUPLICATE KEY UPDATE
    `before` = landfast_lane_mark.place,
    place = GREATEST(landfast_lane_mark.place, VALUES(place)),
    moved_at = UTC_TIMESTAMP(6)
