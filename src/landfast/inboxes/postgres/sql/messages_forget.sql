-- Of the oldest, so that it costs the same behind any number of them.
DELETE FROM landfast.message
WHERE
    seq IN (SELECT oldest.seq FROM landfast.message AS oldest ORDER BY oldest.seq LIMIT 1000)
    AND made_at < landfast.clock() - make_interval(secs => $1)
