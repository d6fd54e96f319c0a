SELECT name FROM landfast_ledger
