-- As `expire_receipts_upto`, for arrivals.
SELECT key FROM landfast_arrival WHERE key > :after ORDER BY key LIMIT 1 OFFSET :rows
