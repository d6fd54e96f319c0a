-- As `expire_receipts_upto`, for states.
SELECT lane AS upto FROM landfast_lane_state WHERE lane > %(after)s ORDER BY lane LIMIT 1 OFFSET %(rows)s
