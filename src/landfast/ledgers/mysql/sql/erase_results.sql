-- The receipts stay, and what they say.
UPDATE landfast_receipt
SET result = CASE outcome WHEN %(tombstone)s THEN '{"reason":"erased"}' END
WHERE digest = %(digest)s AND result IS NOT NULL
