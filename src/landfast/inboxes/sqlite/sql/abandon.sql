-- The tokens of a worker begin with its id.
UPDATE work SET leased_until = :now
WHERE token BETWEEN :first AND :last AND leased_until > :now
RETURNING seq
