INSERT INTO landfast.token (digest, name, role, created_at, created_by, expires_at)
VALUES ($1, $2, $3, landfast.clock(), $4, landfast.clock() + make_interval(secs => $5::float8))
ON CONFLICT DO NOTHING
RETURNING 1
