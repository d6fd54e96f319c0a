-- As `expire_receipts_upto`, for effects.
SELECT seq AS upto FROM landfast_effect WHERE seq > %(after)s ORDER BY seq LIMIT 1 OFFSET %(rows)s
