-- Those that are in one of the states $1, and have been for $2 seconds.
DELETE FROM landfast.job
WHERE state = ANY ($1::text[]) AND updated_at < landfast.clock() - make_interval(secs => $2)
