INSERT INTO landfast_ledger.identity (id, name) VALUES (1, $1)
ON CONFLICT (id) DO NOTHING
