SELECT seq, key, run, digest, handler, name, arguments, context, tries_count, tries_spent,
       suspect OR state = 'claimed' AS suspect, crashes + (state = 'claimed') AS crashes
FROM landfast_effect
WHERE done_at IS NULL AND due_at <= :now
ORDER BY due_at, seq
LIMIT :limit
