-- A row that is not there cannot be locked: so it is made, without a state.
INSERT INTO landfast_ledger.lane_state AS known (lane, machine)
SELECT lane, machine
FROM unnest($1::bytea[], $2::text[]) AS given (lane, machine)
ON CONFLICT (lane, machine) DO UPDATE SET state = known.state
RETURNING lane, machine, state
