-- As `expire_receipts_upto`, for states.
SELECT lane FROM landfast_lane_state WHERE lane > :after ORDER BY lane LIMIT 1 OFFSET :rows
