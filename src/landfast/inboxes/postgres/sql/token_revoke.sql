UPDATE landfast.token SET revoked_at = landfast.clock() WHERE name = $1 AND revoked_at IS NULL RETURNING 1
