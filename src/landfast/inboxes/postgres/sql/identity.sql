SELECT inbox_id FROM landfast.meta
