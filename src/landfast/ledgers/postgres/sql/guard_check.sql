-- Nobody else's guard row is ever visible: none is ever committed.
SELECT count(*) FROM landfast_ledger.guard WHERE ctid = ANY($1::tid[])
