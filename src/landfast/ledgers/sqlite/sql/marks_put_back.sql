-- A mark that this transaction has moved.
UPDATE landfast_lane_mark SET place = :place WHERE lane = :lane AND handler = :handler
