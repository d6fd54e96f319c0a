DELETE FROM landfast_ledger.receipt AS receipt
USING unnest($1::bytea[], $2::text[], $3::integer[]) AS given (digest, handler, run)
WHERE receipt.digest = given.digest AND receipt.handler = given.handler AND receipt.run = given.run
