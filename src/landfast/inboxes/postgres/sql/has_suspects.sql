-- Among the first $1 rows and those of $2, which were found further back.
SELECT EXISTS (
    SELECT FROM (SELECT token, suspect, leased_until FROM landfast.work ORDER BY seq LIMIT $1) AS front
    WHERE CASE WHEN token IS NULL THEN suspect ELSE leased_until <= landfast.clock() END
) OR EXISTS (
    SELECT FROM landfast.work
    WHERE seq = ANY ($2::bigint[]) AND CASE WHEN token IS NULL THEN suspect ELSE leased_until <= landfast.clock() END
)
