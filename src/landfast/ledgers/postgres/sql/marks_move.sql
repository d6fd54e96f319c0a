-- Locks each mark, moves it up and never down, and says where it was: nowhere is an empty place.
INSERT INTO landfast_ledger.lane_mark AS mark (lane, handler, place)
SELECT lane, handler, place
FROM unnest($1::bytea[], $2::text[], $3::bytea[]) AS given (lane, handler, place)
ON CONFLICT (lane, handler) DO UPDATE
SET before = mark.place, place = greatest(mark.place, excluded.place), moved_at = landfast_ledger.clock()
RETURNING lane, handler, before
