-- Two more kinds of waiting: for an operator who decides whether it is processed at all (held), and for a switch to be
-- released (paused).
ALTER TABLE landfast.shelf
    DROP CONSTRAINT shelf_state_check,
    ADD CONSTRAINT shelf_state_check CHECK (state IN ('delayed', 'unhandled', 'dead', 'held', 'paused'));

-- Which life of this inbox it is: drawn anew when a cache is found to know more than the inbox, which was restored.
ALTER TABLE landfast.meta
    ADD COLUMN epoch bytea NOT NULL DEFAULT '\x00000000' CHECK (length(epoch) = 4);

-- What all workers leave alone: paused sources and handlers, open breakers. Released, a switch is gone.
CREATE TABLE landfast.switch (
    kind text NOT NULL,
    name text NOT NULL,
    why text NOT NULL,
    who text NOT NULL,
    at timestamptz NOT NULL,
    until timestamptz,
    PRIMARY KEY (kind, name)
);

-- What each boot counts besides deliveries: hits of its caches, records in its spool.
CREATE TABLE landfast.meter (
    boot bytea NOT NULL,
    name text NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (boot, name)
);
