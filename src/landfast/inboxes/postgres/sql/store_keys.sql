SELECT id, wrapped, master FROM landfast.store_key
