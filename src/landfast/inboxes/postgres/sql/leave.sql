DELETE FROM landfast.heartbeat WHERE boot = $1
