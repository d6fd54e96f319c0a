CREATE TABLE IF NOT EXISTS landfast_ledger_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL)
