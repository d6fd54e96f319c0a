-- At which rate all workers together call what their handlers depend on: one row for each that has a rate, or that has
-- just come back. In seconds since 1970.
CREATE TABLE turnstile (
    name      TEXT PRIMARY KEY,
    free_at   REAL NOT NULL,
    queue_end REAL NOT NULL
) STRICT;
