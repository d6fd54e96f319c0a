-- Which of them this transaction has inserted.
SELECT digest, handler, run FROM landfast_ledger.receipt
WHERE digest = ANY($1::bytea[]) AND xmin = pg_current_xact_id()::xid
