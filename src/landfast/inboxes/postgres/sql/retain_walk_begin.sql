INSERT INTO landfast.retention_walk (part, began_at) VALUES ($1, landfast.clock())
ON CONFLICT (part) DO UPDATE
SET began_at = EXCLUDED.began_at, ended_at = NULL, after_at = DEFAULT, after_id = DEFAULT, after_seq = DEFAULT,
    again_at = NULL
