SELECT name, source, value FROM landfast.total
