-- A state that this transaction has locked, as `marks_read`.
SELECT lane, machine, state
FROM landfast_lane_state
WHERE lane = %(lane)s AND machine = %(machine)s
FOR UPDATE
