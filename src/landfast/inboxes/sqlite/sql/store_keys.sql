SELECT id, wrapped, master FROM store_key
