SELECT id, wrapped, master FROM landfast_ledger.store_key
