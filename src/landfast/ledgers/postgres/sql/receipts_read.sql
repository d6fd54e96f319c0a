SELECT digest, handler, run, outcome, result
FROM landfast_ledger.receipt
WHERE digest = ANY($1::bytea[])
ORDER BY digest, handler, run
