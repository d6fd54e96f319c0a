UPDATE landfast.retention_walk
SET
    after_at = $2, after_id = $3, after_seq = $4,
    again_at = least(again_at, landfast.clock() + make_interval(secs => $5))
WHERE part = $1
