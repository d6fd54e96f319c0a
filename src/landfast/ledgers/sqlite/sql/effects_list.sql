SELECT key, run, handler, name, arguments, context, state, tries_count AS attempts, error, message, trace, created_at,
       step, result, starts_at AS at
FROM landfast_effect
WHERE (:digest IS NULL OR digest = :digest) AND (:state IS NULL OR state = :state)
ORDER BY seq DESC
LIMIT :limit
