INSERT INTO landfast_ledger_inbox (inbox, bound_at) VALUES (:inbox, :now)
ON CONFLICT (inbox) DO NOTHING
