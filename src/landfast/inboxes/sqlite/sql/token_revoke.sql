UPDATE token SET revoked_at = :now WHERE name = :name AND revoked_at IS NULL RETURNING 1
