-- The receipts stay, and what they say. $2 is the outcome of a tombstone.
UPDATE landfast_ledger.receipt
SET result = CASE outcome WHEN $2 THEN '{"reason":"erased"}'::bytea END
WHERE digest = ANY($1::bytea[]) AND result IS NOT NULL
