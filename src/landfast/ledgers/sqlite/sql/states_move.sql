INSERT INTO landfast_lane_state (lane, machine, state, is_last, moved_at)
VALUES (:lane, :machine, :state, :is_last, :now)
ON CONFLICT (lane, machine) DO UPDATE
SET state = excluded.state, is_last = excluded.is_last, moved_at = excluded.moved_at
