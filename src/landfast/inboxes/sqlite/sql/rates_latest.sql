SELECT meter, source, handler, at FROM rate_latest ORDER BY meter, source, handler
