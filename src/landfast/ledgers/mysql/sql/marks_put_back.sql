-- A mark that this transaction has locked.
UPDATE landfast_lane_mark SET place = %(place)s WHERE lane = %(lane)s AND handler = %(handler)s
