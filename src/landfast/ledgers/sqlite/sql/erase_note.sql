INSERT INTO landfast_erasure (inbox, event_id, digest, erased_at, who) VALUES (:inbox, :event_id, :digest, :now, :who)
ON CONFLICT DO NOTHING
