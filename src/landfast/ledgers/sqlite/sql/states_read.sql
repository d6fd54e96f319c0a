SELECT state FROM landfast_lane_state WHERE lane = :lane AND machine = :machine
