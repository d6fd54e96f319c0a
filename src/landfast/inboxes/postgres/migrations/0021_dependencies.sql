-- At which rate all workers together call what their handlers depend on: one row for each that has a rate, or that has
-- just come back. In seconds since 1970.
CREATE TABLE landfast.turnstile (
    name text PRIMARY KEY,
    free_at double precision NOT NULL DEFAULT 0,
    queue_end double precision NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
