-- Among the first $1 rows, or among all where it is NULL.
SELECT EXISTS (
    SELECT FROM (SELECT token, suspect, leased_until FROM landfast.work ORDER BY seq LIMIT $1) AS front
    WHERE CASE WHEN token IS NULL THEN suspect ELSE leased_until <= landfast.clock() END
)
