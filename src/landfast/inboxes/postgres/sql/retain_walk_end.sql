UPDATE landfast.retention_walk SET ended_at = landfast.clock() WHERE part = $1
