"""Our own HTTP/1.1: httptools reads the heads, uvloop moves the bytes, and every broken request has its answer."""
