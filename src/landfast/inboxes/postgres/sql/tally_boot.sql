INSERT INTO landfast.boot (boot, reported_at, ended) VALUES ($1, landfast.clock(), $2)
ON CONFLICT (boot) DO UPDATE SET reported_at = EXCLUDED.reported_at, ended = EXCLUDED.ended
