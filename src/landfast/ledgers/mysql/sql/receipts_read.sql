SELECT digest, handler, run, outcome, result
FROM landfast_receipt
WHERE digest IN (
-- for each
%(digest)s
-- so far
)
ORDER BY digest, handler, run
