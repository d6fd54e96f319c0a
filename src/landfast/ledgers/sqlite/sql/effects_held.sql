SELECT 1 FROM landfast_effect WHERE key = :key AND run = :run AND token = :token AND state = :held
