SELECT mac_key FROM landfast.meta
