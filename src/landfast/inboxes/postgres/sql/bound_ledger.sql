SELECT ledger FROM landfast.meta
