INSERT INTO landfast.boot (boot, reported_at, ended, owes) VALUES ($1, landfast.clock(), $2, true)
ON CONFLICT (boot) DO UPDATE SET reported_at = EXCLUDED.reported_at, ended = EXCLUDED.ended, owes = true
