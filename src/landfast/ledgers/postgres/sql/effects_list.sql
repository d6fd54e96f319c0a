SELECT key, run, handler, name, arguments, context, state, tries_count AS attempts, error, message, trace, created_at,
    step, result, starts_at AS at
FROM landfast_ledger.effect
WHERE ($1::bytea IS NULL OR digest = $1) AND ($2::text IS NULL OR state = $2)
ORDER BY seq DESC
LIMIT $3
