-- As `effects_held`, and nobody erases it before this transaction has ended.
SELECT 1 FROM landfast_ledger.effect WHERE key = $1 AND run = $2 AND token = $3 AND state = $4 FOR UPDATE
