SELECT part, began_at, ended_at, after_at, after_id, after_seq, again_at FROM landfast.retention_walk
