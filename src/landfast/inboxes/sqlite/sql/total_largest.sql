INSERT INTO total (name, source, value) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET value = max(value, excluded.value)
