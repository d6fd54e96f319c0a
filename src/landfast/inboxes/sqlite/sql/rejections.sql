SELECT at, source, path, address, cause, status, headers, count
FROM rejection
WHERE (:since IS NULL OR at >= :since) AND (:source IS NULL OR source = :source)
ORDER BY at DESC, source, cause, address
LIMIT :limit
