INSERT INTO landfast_store_key (id, wrapped, master) VALUES (%(id)s, %(wrapped)s, %(master)s)
ON DUPLICATE KEY UPDATE id = landfast_store_key.id
