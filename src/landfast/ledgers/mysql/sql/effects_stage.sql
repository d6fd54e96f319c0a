INSERT INTO landfast_effect
    (`key`, run, name, arguments, context, digest, handler, state, starts_at, waits, step, error, message, trace, due_at,
     created_at)
VALUES
-- for each
(%(key)s, %(run)s, %(name)s, %(arguments)s, %(context)s, %(digest)s, %(handler)s, %(state)s,
    UTC_TIMESTAMP(6) + INTERVAL %(due_in)s MICROSECOND, %(waits)s, %(step)s, '', '', '',
    CASE WHEN %(waits)s > 0 THEN '9999-12-31'
        ELSE UTC_TIMESTAMP(6) + INTERVAL COALESCE(%(due_in)s, 0) MICROSECOND END,
    UTC_TIMESTAMP(6))
-- so far
ON DUPLICATE KEY UPDATE run = landfast_effect.run
