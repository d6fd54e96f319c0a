INSERT INTO landfast_effect_wait (key, run, awaited) VALUES (:key, :run, :awaited)
ON CONFLICT (key, run, awaited) DO NOTHING
