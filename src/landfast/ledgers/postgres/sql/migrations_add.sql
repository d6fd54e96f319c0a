INSERT INTO landfast_ledger_migration (number, name) VALUES ($1, $2)
