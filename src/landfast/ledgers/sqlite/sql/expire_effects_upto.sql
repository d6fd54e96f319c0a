-- As `expire_receipts_upto`, for effects.
SELECT seq FROM landfast_effect WHERE seq > :after ORDER BY seq LIMIT 1 OFFSET :rows
