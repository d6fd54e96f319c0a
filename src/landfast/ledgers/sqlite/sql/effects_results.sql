SELECT key, run, result FROM landfast_effect WHERE key = :key AND run = :run
