DELETE FROM landfast.rate_report WHERE at < landfast.clock() - make_interval(secs => $1)
