SELECT count(*) FROM landfast.identity
