-- The job :id, or the oldest that a worker may carry out, if it is in the :state and nobody carries it out.
UPDATE job
SET token = :token, leased_until = :until
WHERE id = (
    SELECT id FROM job
    WHERE (id = :id OR (:id IS NULL AND is_background)) AND state = :state
      AND (leased_until IS NULL OR leased_until <= :now)
    ORDER BY created_at, id
    LIMIT 1)
RETURNING id, state, plan, is_background, created_at, updated_at, looked_at, replayed, cursor_at, cursor_id, canaries,
          is_proven, message, 1
