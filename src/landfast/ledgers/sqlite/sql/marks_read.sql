SELECT before FROM landfast_lane_mark WHERE lane = :lane AND handler = :handler
