-- What is there now, whatever view of the past the transaction has: under REPEATABLE READ it would not see a receipt that
-- was committed while it waited.
SELECT digest, handler, run, outcome, result
FROM landfast_receipt
WHERE digest IN (
-- for each
%(digest)s
-- so far
)
ORDER BY digest, handler, run
LOCK IN SHARE MODE
