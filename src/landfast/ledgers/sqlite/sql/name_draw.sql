INSERT INTO landfast_ledger (id, name) VALUES (1, :name)
ON CONFLICT (id) DO NOTHING
