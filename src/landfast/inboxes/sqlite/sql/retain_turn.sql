-- Whoever has the turn keeps it; another gets it when nobody has, and the last pass ended :every ago; or at once, where
-- that is :urgent.
UPDATE retention
SET began_at = iif(holder = :holder AND until > :now, began_at, :now), holder = :holder, until = :until
WHERE :urgent OR (holder = :holder AND until > :now)
   OR (coalesce(until, 0) <= :now AND coalesce(ended_at + :every, 0) <= :now)
RETURNING one
