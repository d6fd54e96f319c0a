-- A state that this transaction has locked.
UPDATE landfast_lane_state SET state = %(state)s, is_last = %(is_last)s, moved_at = UTC_TIMESTAMP(6)
WHERE lane = %(lane)s AND machine = %(machine)s
