DELETE FROM rate_report WHERE at < :before
