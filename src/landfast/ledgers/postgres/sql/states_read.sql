SELECT known.lane, known.machine, known.state
FROM landfast_ledger.lane_state AS known
JOIN unnest($1::bytea[], $2::text[]) AS given (lane, machine)
    ON known.lane = given.lane AND known.machine = given.machine
