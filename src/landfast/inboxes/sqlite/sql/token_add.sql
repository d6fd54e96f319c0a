INSERT INTO token (digest, name, role, created_at, created_by, expires_at)
VALUES (:digest, :name, :role, :now, :who, :expires_at)
ON CONFLICT DO NOTHING
RETURNING 1
