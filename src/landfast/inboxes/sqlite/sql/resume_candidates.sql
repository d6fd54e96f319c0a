-- Paused events whose switch is in force no longer, oldest first.
SELECT f.body_seq, f.event_id FROM shelf f
WHERE f.state = 'paused'
  AND NOT EXISTS (SELECT 1 FROM switch s WHERE s.kind || ':' || s.name = f.reason AND (s.until IS NULL OR s.until > :now))
ORDER BY f.received_at, f.event_id
LIMIT :limit
