INSERT INTO job (id, state, plan, is_background, created_at, updated_at)
VALUES (:id, :state, :plan, :is_background, :now, :now)
