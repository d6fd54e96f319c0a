SELECT minute, meter, source, type, handler, detail, count, histogram, seconds
FROM rate
WHERE
    seconds IN (SELECT value FROM json_each(:seconds))
    AND minute >= :since AND minute < :until
    AND (:meters IS NULL OR meter IN (SELECT value FROM json_each(:meters)))
    AND (:source IS NULL OR source = :source)
ORDER BY minute, seconds DESC, meter, source, type, handler, detail
