DELETE FROM landfast.heartbeat WHERE seen_at < landfast.clock() - make_interval(secs => $1)
