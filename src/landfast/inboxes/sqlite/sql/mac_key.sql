SELECT mac_key FROM meta
