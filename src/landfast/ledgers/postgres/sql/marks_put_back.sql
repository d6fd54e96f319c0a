-- Marks that this transaction has locked.
UPDATE landfast_ledger.lane_mark AS mark SET place = given.place
FROM unnest($1::bytea[], $2::text[], $3::bytea[]) AS given (lane, handler, place)
WHERE mark.lane = given.lane AND mark.handler = given.handler
