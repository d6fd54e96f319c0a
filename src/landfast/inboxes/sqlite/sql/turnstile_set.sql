INSERT INTO turnstile (name, free_at, queue_end) VALUES (:name, :free_at, :queue_end)
ON CONFLICT (name) DO UPDATE SET free_at = excluded.free_at, queue_end = excluded.queue_end
