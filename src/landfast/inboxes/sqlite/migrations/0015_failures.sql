-- Where in the user's code an event failed, and since when it waits: so what fails alike is grouped without a look at
-- its history. Empty in what was shelved before.
ALTER TABLE shelf ADD COLUMN line TEXT NOT NULL DEFAULT '';
ALTER TABLE shelf ADD COLUMN shelved_at INTEGER;

-- What an operator replays is a flow of its own: neither it nor what comes in meanwhile waits behind the other.
ALTER TABLE work ADD COLUMN is_replay INTEGER GENERATED ALWAYS AS (run > 1) VIRTUAL;
DROP INDEX work_by_type;
CREATE INDEX work_by_type ON work (source, type, is_replay);

-- Replays of many events. `cursor_*` and `replayed` move in the transaction that replays, so no event is replayed twice
-- by one job. `leased_until`: somebody carries it out until then. `canaries`: ids of 16 bytes, one behind the other.
CREATE TABLE job (
    id            BLOB NOT NULL PRIMARY KEY,
    state         TEXT NOT NULL CHECK (state IN ('running', 'stopped', 'failed', 'cancelled', 'finished')),
    plan          TEXT NOT NULL,
    is_background INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    looked_at     INTEGER NOT NULL DEFAULT 0,
    replayed      INTEGER NOT NULL DEFAULT 0,
    cursor_at     INTEGER,
    cursor_id     BLOB,
    canaries      BLOB NOT NULL DEFAULT x'',
    is_proven     INTEGER NOT NULL DEFAULT 0,
    message       TEXT NOT NULL DEFAULT '',
    token         BLOB,
    leased_until  INTEGER,
    CHECK ((cursor_at IS NULL) = (cursor_id IS NULL)),
    CHECK ((token IS NULL) = (leased_until IS NULL))
) STRICT;
