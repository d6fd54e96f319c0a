SELECT ledger FROM meta
