INSERT INTO landfast_ledger_inbox (inbox) VALUES ($1)
ON CONFLICT (inbox) DO NOTHING
