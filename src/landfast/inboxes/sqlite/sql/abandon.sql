UPDATE work SET leased_until = :now
WHERE leased_until > :now AND substr(token, 1, 8) = :worker
RETURNING seq
