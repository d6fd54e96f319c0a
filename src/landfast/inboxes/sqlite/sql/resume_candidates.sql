-- Of one state, so that the index has them in order: those whose switch is in force no longer, oldest first.
SELECT f.body_seq, f.event_id, f.state, f.reason FROM shelf f
WHERE f.state = :state
  AND NOT EXISTS (SELECT 1 FROM switch t WHERE t.kind || ':' || t.name = f.reason AND (t.until IS NULL OR t.until > :now))
ORDER BY f.received_at, f.event_id
LIMIT :limit
