-- :state is running, :begins those that may become it; one that runs already is taken over where nobody carries it out.
UPDATE job
SET state = :state, is_background = :is_background, token = NULL, leased_until = NULL, message = '', canaries = x'',
    updated_at = :now
WHERE id = :id
  AND (state IN (SELECT value FROM json_each(:begins))
       OR (state = :state AND (leased_until IS NULL OR leased_until <= :now)))
RETURNING id
