-- Moves a mark up and never down, and keeps where it was.
INSERT INTO landfast_lane_mark (lane, handler, place, moved_at) VALUES (:lane, :handler, :place, :now)
ON CONFLICT (lane, handler) DO UPDATE
SET before = place, place = max(place, excluded.place), moved_at = excluded.moved_at
