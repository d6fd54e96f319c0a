UPDATE landfast_ledger.effect AS effect
SET state = $4, due_at = landfast_ledger.clock(), done_at = NULL,
    tries_count = 0, tries_spent = 0, tries_unknown = 0, suspect = false, crashes = 0
FROM unnest($1::text[], $2::integer[]) AS given (key, run)
WHERE effect.key = given.key AND effect.run = given.run AND effect.state = $3
    AND effect.error <> 'erased'
RETURNING effect.seq
