-- Keys that wrap data keys, each wrapped by the master key of that name, which is in no database.
CREATE TABLE landfast_store_key (
    id      BLOB PRIMARY KEY,
    wrapped BLOB NOT NULL,
    master  TEXT NOT NULL
) WITHOUT ROWID;

-- Which events of which inbox were erased: a restored inbox is erased again by this list, and this ledger by the inbox's.
CREATE TABLE landfast_erasure (
    inbox     BLOB    NOT NULL,
    event_id  BLOB    NOT NULL,
    digest    BLOB    NOT NULL,
    erased_at INTEGER NOT NULL,
    who       TEXT    NOT NULL,
    PRIMARY KEY (inbox, event_id)
) WITHOUT ROWID;
