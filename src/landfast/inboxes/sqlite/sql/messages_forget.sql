-- Of the oldest, so that it costs the same behind any number of them.
DELETE FROM message WHERE seq IN (SELECT seq FROM message ORDER BY seq LIMIT 1000) AND made_at < ?
