INSERT INTO rate_latest (meter, source, handler, at) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET at = excluded.at WHERE at < excluded.at
