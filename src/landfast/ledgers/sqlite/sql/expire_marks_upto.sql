-- As `expire_receipts_upto`, for marks.
SELECT lane FROM landfast_lane_mark WHERE lane > :after ORDER BY lane LIMIT 1 OFFSET :rows
