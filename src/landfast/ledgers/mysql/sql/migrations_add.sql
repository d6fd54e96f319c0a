INSERT INTO landfast_ledger_migration (number, name) VALUES (%(number)s, %(name)s)
