INSERT INTO landfast_ledger (id, name) VALUES (1, %(name)s)
ON DUPLICATE KEY UPDATE name = landfast_ledger.name
