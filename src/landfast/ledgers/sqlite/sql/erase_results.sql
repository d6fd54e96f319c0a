-- The receipts stay, and what they say.
UPDATE landfast_receipt
SET result = CASE outcome WHEN :tombstone THEN CAST('{"reason":"erased"}' AS BLOB) END
WHERE digest = :digest AND result IS NOT NULL
