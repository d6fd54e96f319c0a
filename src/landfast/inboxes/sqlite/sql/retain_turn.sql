-- Whoever has the turn keeps it; another gets it when nobody has, and the last pass ended :every ago; or at once, where
-- that is :urgent. One that ended later than now ended by a clock that was wrong, and says nothing.
UPDATE retention
SET began_at = iif(holder = :holder AND until > :now, began_at, :now), holder = :holder, until = :until
WHERE :urgent OR (holder = :holder AND until > :now)
   OR (coalesce(until, 0) <= :now AND (coalesce(ended_at + :every, 0) <= :now OR ended_at > :now))
RETURNING one
