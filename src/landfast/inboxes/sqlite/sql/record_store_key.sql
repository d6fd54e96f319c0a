INSERT INTO store_key (id, wrapped, master) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING
