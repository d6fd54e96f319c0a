-- Walks the whole table: neither leases nor suspects are in an index, so that a claim is a HOT update.
SELECT seq FROM landfast.work
WHERE CASE WHEN token IS NULL THEN suspect ELSE leased_until <= landfast.clock() END
ORDER BY seq LIMIT $1
