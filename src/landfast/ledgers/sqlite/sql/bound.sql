SELECT name FROM landfast_ledger WHERE EXISTS (SELECT 1 FROM landfast_ledger_inbox WHERE inbox = :inbox)
