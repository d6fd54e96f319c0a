UPDATE work SET leased_until = :until
WHERE leased_until > :now AND substr(token, 1, 8) = :worker
