INSERT INTO landfast_store_key (id, wrapped, master) VALUES (:id, :wrapped, :master)
ON CONFLICT (id) DO NOTHING
