DELETE FROM alert WHERE resolved_at < ?
