-- One that was not performed never is. $2 is `done`, $3 is `dead`.
UPDATE landfast_ledger.effect
SET arguments = '{}', result = NULL, message = '', trace = '', token = NULL,
    error = CASE WHEN state = $2 THEN '' ELSE 'erased' END,
    state = CASE WHEN state = $2 THEN state ELSE $3 END,
    done_at = coalesce(done_at, landfast_ledger.clock())
WHERE digest = ANY($1::bytea[])
