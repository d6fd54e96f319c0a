INSERT INTO landfast.job (id, state, plan, is_background, created_at, updated_at)
VALUES ($1, $2, $3, $4, landfast.clock(), landfast.clock())
