-- The receipts stay, and what they say.
UPDATE landfast_receipt
SET result = CASE outcome WHEN 'dead' THEN '{"reason":"erased"}'::bytea END
WHERE digest = ANY($1::bytea[]) AND result IS NOT NULL
