-- Marks that this transaction has made.
DELETE FROM landfast_ledger.lane_mark AS mark
USING unnest($1::bytea[], $2::text[]) AS given (lane, handler)
WHERE mark.lane = given.lane AND mark.handler = given.handler
