SELECT `key`, run, handler, name, arguments, context, state, tries_count AS attempts, error, message, trace, created_at,
    step, result, starts_at AS at
FROM landfast_effect
WHERE (%(digest)s IS NULL OR digest = %(digest)s) AND (%(state)s IS NULL OR state = %(state)s)
ORDER BY seq DESC
LIMIT %(limit)s
