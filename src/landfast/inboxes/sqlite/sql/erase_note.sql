INSERT INTO erasure (event_id, erased_at, who) VALUES (:event_id, :at, :who)
