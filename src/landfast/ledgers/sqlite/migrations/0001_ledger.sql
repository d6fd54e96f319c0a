-- Beside the user's own tables: every name begins with landfast_. Times are microseconds since 1970.

CREATE TABLE landfast_receipt (
    digest     BLOB    NOT NULL,
    handler    TEXT    NOT NULL,
    run        INTEGER NOT NULL,
    outcome    TEXT    NOT NULL CHECK (outcome IN ('done', 'dead')),
    result     BLOB,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (digest, handler, run)
) WITHOUT ROWID;

CREATE TABLE landfast_effect (
    seq         INTEGER PRIMARY KEY,
    key         TEXT    NOT NULL,
    run         INTEGER NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'claimed', 'delayed', 'done', 'dead')),
    name        TEXT    NOT NULL,
    arguments   BLOB    NOT NULL,
    context     BLOB    NOT NULL,
    digest      BLOB    NOT NULL,
    handler     TEXT    NOT NULL,
    token       BLOB,
    -- When it may be claimed: when it was staged, when its delay is over, or when its lease expires.
    due_at      INTEGER NOT NULL,
    tries_count INTEGER NOT NULL DEFAULT 0,
    tries_spent REAL    NOT NULL DEFAULT 0,
    suspect     INTEGER NOT NULL DEFAULT 0,
    crashes     INTEGER NOT NULL DEFAULT 0,
    error       TEXT    NOT NULL DEFAULT '',
    message     TEXT    NOT NULL DEFAULT '',
    trace       TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    done_at     INTEGER,
    UNIQUE (key, run)
);

-- What waits is found without a look at what is over, however much of either there is.
CREATE INDEX landfast_effect_due ON landfast_effect (due_at, seq) WHERE done_at IS NULL;
CREATE INDEX landfast_effect_digest ON landfast_effect (digest);

-- No row can ever be in landfast_never, so a transaction that still has its guard row cannot be committed.
CREATE TABLE landfast_never (id INTEGER PRIMARY KEY CHECK (id IS NULL));
CREATE TABLE landfast_guard (
    never INTEGER NOT NULL DEFAULT 0
        CONSTRAINT landfast_a_handler_cannot_commit REFERENCES landfast_never DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE landfast_ledger (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
);

CREATE TABLE landfast_ledger_inbox (
    inbox    BLOB    PRIMARY KEY,
    bound_at INTEGER NOT NULL
);
