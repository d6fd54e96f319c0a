SELECT at, source, path, address, cause, status, headers, count
FROM landfast.rejection
WHERE ($1::timestamptz IS NULL OR at >= $1) AND ($2::text IS NULL OR source = $2)
ORDER BY at DESC, source, cause, address
LIMIT $3
