DELETE FROM heartbeat WHERE boot = ?
