INSERT INTO landfast_ledger.inbox (inbox) VALUES ($1)
ON CONFLICT (inbox) DO NOTHING
