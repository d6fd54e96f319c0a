"""What the log says of requests: why one was refused, and what somebody should look at."""
