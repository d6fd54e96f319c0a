-- Made in the schema that the search_path names; 0005 takes all of it into one of its own, and the prefix away.

-- All of Landfast's times in the ledger come from here. Tests replace it to move time.
CREATE FUNCTION landfast_clock() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now()';

CREATE TABLE landfast_receipt (
    digest     bytea       NOT NULL,
    handler    text        NOT NULL,
    run        integer     NOT NULL,
    outcome    text        NOT NULL CHECK (outcome IN ('done', 'dead')),
    result     bytea,
    created_at timestamptz NOT NULL DEFAULT landfast_clock(),
    PRIMARY KEY (digest, handler, run)
);

CREATE TABLE landfast_effect (
    seq         bigint           GENERATED ALWAYS AS IDENTITY UNIQUE,
    key         text             NOT NULL,
    run         integer          NOT NULL,
    state       text             NOT NULL DEFAULT 'ready'
        CHECK (state IN ('ready', 'claimed', 'delayed', 'done', 'dead')),
    name        text             NOT NULL,
    arguments   bytea            NOT NULL,
    context     bytea            NOT NULL,
    digest      bytea            NOT NULL,
    handler     text             NOT NULL,
    token       bytea,
    -- When it may be claimed: when it was staged, when its delay is over, or when its lease expires.
    due_at      timestamptz      NOT NULL DEFAULT landfast_clock(),
    tries_count integer          NOT NULL DEFAULT 0,
    tries_spent double precision NOT NULL DEFAULT 0,
    suspect     boolean          NOT NULL DEFAULT false,
    crashes     integer          NOT NULL DEFAULT 0,
    error       text             NOT NULL DEFAULT '',
    message     text             NOT NULL DEFAULT '',
    trace       text             NOT NULL DEFAULT '',
    created_at  timestamptz      NOT NULL DEFAULT landfast_clock(),
    done_at     timestamptz,
    PRIMARY KEY (key, run)
);

-- What waits is found without a look at what is over, however much of either there is.
CREATE INDEX landfast_effect_due ON landfast_effect (due_at, seq) WHERE done_at IS NULL;
CREATE INDEX landfast_effect_digest ON landfast_effect (digest);

-- No row can ever be in landfast_never, so a transaction that still has its guard row cannot be committed. The guard
-- has no index: its row is found by its place, and a scan of an index would make SERIALIZABLE handlers collide on it.
CREATE TABLE landfast_never (id integer PRIMARY KEY CHECK (false));
CREATE TABLE landfast_guard (
    never integer NOT NULL DEFAULT 0
        CONSTRAINT landfast_a_handler_cannot_commit REFERENCES landfast_never DEFERRABLE INITIALLY DEFERRED
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

CREATE TABLE landfast_ledger (
    id   integer PRIMARY KEY CHECK (id = 1),
    name text    NOT NULL
);

CREATE TABLE landfast_ledger_inbox (
    inbox    bytea       PRIMARY KEY,
    bound_at timestamptz NOT NULL DEFAULT landfast_clock()
);
