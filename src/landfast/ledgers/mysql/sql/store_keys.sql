SELECT id, wrapped, master FROM landfast_store_key
