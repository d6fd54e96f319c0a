-- As `expire_receipts_upto`, for arrivals.
SELECT `key` AS upto FROM landfast_arrival WHERE `key` > %(after)s ORDER BY `key` LIMIT 1 OFFSET %(rows)s
