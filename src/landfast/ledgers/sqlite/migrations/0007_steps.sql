-- Effects that are staged after others, or for a time; what they return; and which waits for which. The table is made
-- anew, because SQLite cannot change a CHECK.
CREATE TABLE landfast_stepped_effect (
    seq           INTEGER PRIMARY KEY,
    key           TEXT    NOT NULL,
    run           INTEGER NOT NULL,
    state         TEXT    NOT NULL DEFAULT 'ready'
        CHECK (state IN ('waiting', 'ready', 'claimed', 'delayed', 'done', 'dead')),
    name          TEXT    NOT NULL,
    arguments     BLOB    NOT NULL,
    context       BLOB    NOT NULL,
    digest        BLOB    NOT NULL,
    handler       TEXT    NOT NULL,
    token         BLOB,
    -- When it may be claimed: when it was staged, when its time has come, when its delay is over, or when its lease
    -- expires. One that waits for others is due at the end of time.
    due_at        INTEGER NOT NULL,
    tries_count   INTEGER NOT NULL DEFAULT 0,
    tries_spent   REAL    NOT NULL DEFAULT 0,
    suspect       INTEGER NOT NULL DEFAULT 0,
    crashes       INTEGER NOT NULL DEFAULT 0,
    error         TEXT    NOT NULL DEFAULT '',
    message       TEXT    NOT NULL DEFAULT '',
    trace         TEXT    NOT NULL DEFAULT '',
    created_at    INTEGER NOT NULL,
    done_at       INTEGER,
    tries_unknown REAL    NOT NULL DEFAULT 0,
    starts_at     INTEGER,
    waits         INTEGER NOT NULL DEFAULT 0,
    step          BLOB,
    result        BLOB,
    UNIQUE (key, run)
);
INSERT INTO landfast_stepped_effect (
    seq, key, run, state, name, arguments, context, digest, handler, token, due_at, tries_count, tries_spent, suspect,
    crashes, error, message, trace, created_at, done_at, tries_unknown
)
SELECT seq, key, run, state, name, arguments, context, digest, handler, token, due_at, tries_count, tries_spent, suspect,
    crashes, error, message, trace, created_at, done_at, tries_unknown
FROM landfast_effect;
DROP TABLE landfast_effect;
ALTER TABLE landfast_stepped_effect RENAME TO landfast_effect;

-- What waits is found without a look at what is over, however much of either there is.
CREATE INDEX landfast_effect_due ON landfast_effect (due_at, seq) WHERE done_at IS NULL;
CREATE INDEX landfast_effect_digest ON landfast_effect (digest);

-- `key` waits for `awaited`, of the same run. A row goes when `key` is done, or expires.
CREATE TABLE landfast_effect_wait (
    key     TEXT    NOT NULL,
    run     INTEGER NOT NULL,
    awaited TEXT    NOT NULL,
    PRIMARY KEY (key, run, awaited)
) WITHOUT ROWID;
CREATE INDEX landfast_effect_wait_awaited ON landfast_effect_wait (awaited, run);
