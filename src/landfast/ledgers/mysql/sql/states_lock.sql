-- A row that is not there cannot be locked: so it is made, without a state.
INSERT INTO landfast_lane_state (lane, machine, moved_at)
VALUES
-- for each
(%(lane)s, %(machine)s, UTC_TIMESTAMP(6))
-- so far
ON DUPLICATE KEY UPDATE state = landfast_lane_state.state
