INSERT INTO landfast.turnstile (name, free_at, queue_end) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING
