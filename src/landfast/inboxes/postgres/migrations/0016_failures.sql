-- Where in the user's code an event failed, and since when it waits: so what fails alike is grouped without a look at
-- its history. Empty in what was shelved before.
ALTER TABLE landfast.shelf
    ADD COLUMN line text NOT NULL DEFAULT '',
    ADD COLUMN shelved_at timestamptz;

-- What an operator replays is a flow of its own: neither it nor what comes in meanwhile waits behind the other.
ALTER TABLE landfast.work ADD COLUMN is_replay boolean GENERATED ALWAYS AS (run > 1) STORED;
DROP INDEX landfast.work_by_type;
CREATE INDEX work_by_type ON landfast.work (source, type, is_replay, seq);

-- Replays of many events. `cursor_*` and `replayed` move in the transaction that replays, so no event is replayed twice
-- by one job. `leased_until`: somebody carries it out until then.
CREATE TABLE landfast.job (
    id bytea PRIMARY KEY,
    state text NOT NULL CHECK (state IN ('running', 'stopped', 'failed', 'cancelled', 'finished')),
    plan bytea NOT NULL,
    is_background boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    looked_at bigint NOT NULL DEFAULT 0,
    replayed bigint NOT NULL DEFAULT 0,
    cursor_at timestamptz,
    cursor_id bytea,
    canaries bytea[] NOT NULL DEFAULT '{}',
    is_proven boolean NOT NULL DEFAULT false,
    message text NOT NULL DEFAULT '',
    token bytea,
    leased_until timestamptz,
    CHECK ((cursor_at IS NULL) = (cursor_id IS NULL)),
    CHECK ((token IS NULL) = (leased_until IS NULL))
);
