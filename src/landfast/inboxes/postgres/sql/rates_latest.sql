SELECT meter, source, handler, at FROM landfast.rate_latest ORDER BY meter, source, handler
