CREATE TABLE IF NOT EXISTS landfast_ledger.migration (number integer PRIMARY KEY, name text NOT NULL)
