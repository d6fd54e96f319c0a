INSERT INTO landfast_effect
    (key, run, name, arguments, context, digest, handler, state, starts_at, waits, step, due_at, created_at)
VALUES (
    :key, :run, :name, :arguments, :context, :digest, :handler, :state, :starts_at, :waits, :step,
    CASE WHEN :waits > 0 THEN 9223372036854775807 ELSE max(:now, coalesce(:starts_at, :now)) END, :now
)
ON CONFLICT (key, run) DO NOTHING
