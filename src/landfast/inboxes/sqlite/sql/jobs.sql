-- Those in the state :first first, then all others, the newest first; or the job :id alone.
SELECT id, state, plan, is_background, created_at, updated_at, looked_at, replayed, cursor_at, cursor_id, canaries,
       is_proven, message, coalesce(leased_until > :now, 0)
FROM job
WHERE :id IS NULL OR id = :id
ORDER BY state = :first DESC, created_at DESC, id
LIMIT :limit
