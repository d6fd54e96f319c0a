SELECT event, (:now - handled_at) / 1000000.0 AS age FROM landfast_arrival WHERE key = :key
