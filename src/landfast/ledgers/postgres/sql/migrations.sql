CREATE TABLE IF NOT EXISTS landfast_ledger_migration (number integer PRIMARY KEY, name text NOT NULL)
