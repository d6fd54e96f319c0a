UPDATE meta SET ledger = :ledger WHERE ledger IS NULL
