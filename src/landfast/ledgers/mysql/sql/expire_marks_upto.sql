-- As `expire_receipts_upto`, for marks.
SELECT lane AS upto FROM landfast_lane_mark WHERE lane > %(after)s ORDER BY lane LIMIT 1 OFFSET %(rows)s
