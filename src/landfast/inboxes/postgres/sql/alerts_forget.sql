DELETE FROM landfast.alert WHERE resolved_at < landfast.clock() - make_interval(secs => $1)
