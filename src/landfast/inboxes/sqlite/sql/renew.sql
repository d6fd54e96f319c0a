UPDATE work SET leased_until = :until
WHERE leased_until > :now AND token = :token
