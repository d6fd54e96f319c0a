SELECT name, role, digest, created_at, created_by, expires_at, revoked_at
FROM landfast.token
ORDER BY revoked_at IS NOT NULL, revoked_at DESC, name
