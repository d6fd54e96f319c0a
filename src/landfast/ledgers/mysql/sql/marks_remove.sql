-- A mark that this transaction has made.
DELETE FROM landfast_lane_mark WHERE lane = %(lane)s AND handler = %(handler)s
