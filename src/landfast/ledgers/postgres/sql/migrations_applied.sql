SELECT number FROM landfast_ledger.migration
