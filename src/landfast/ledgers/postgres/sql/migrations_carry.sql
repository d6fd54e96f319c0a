INSERT INTO landfast_ledger.migration (number, name) SELECT number, name FROM landfast_ledger_migration
