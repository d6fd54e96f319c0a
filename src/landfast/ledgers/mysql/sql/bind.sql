INSERT INTO landfast_ledger_inbox (inbox, bound_at) VALUES (%(inbox)s, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE bound_at = bound_at
