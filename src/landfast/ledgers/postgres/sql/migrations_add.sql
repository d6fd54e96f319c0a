INSERT INTO landfast_ledger.migration (number, name) VALUES ($1, $2)
