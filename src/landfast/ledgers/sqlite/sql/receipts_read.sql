SELECT digest, handler, run, outcome, result
FROM landfast_receipt
WHERE digest = :digest
ORDER BY handler, run
