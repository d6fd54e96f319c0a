-- Keys that wrap data keys, each wrapped by the master key of that name, which is in no database.
CREATE TABLE landfast_store_key (
    id      bytea PRIMARY KEY,
    wrapped bytea NOT NULL,
    master  text  NOT NULL
);

-- Which events of which inbox were erased: a restored inbox is erased again by this list, and this ledger by the inbox's.
CREATE TABLE landfast_erasure (
    inbox     bytea       NOT NULL,
    event_id  bytea       NOT NULL,
    digest    bytea       NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT landfast_clock(),
    who       text        NOT NULL,
    PRIMARY KEY (inbox, event_id)
);
