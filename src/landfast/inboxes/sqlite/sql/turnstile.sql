SELECT free_at, queue_end FROM turnstile WHERE name = :name
