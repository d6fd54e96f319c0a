-- States that this transaction has locked.
UPDATE landfast_ledger.lane_state AS known
SET state = given.state, is_last = given.is_last, moved_at = landfast_ledger.clock()
FROM unnest($1::bytea[], $2::text[], $3::text[], $4::boolean[]) AS given (lane, machine, state, is_last)
WHERE known.lane = given.lane AND known.machine = given.machine
