-- Who changed what by hand. The digest of each line covers the one before: see domain/operator_log.py.
CREATE TABLE operator_log (
    seq      INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    action   TEXT NOT NULL,
    step     TEXT NOT NULL CHECK (step IN ('asked', 'done', 'failed')),
    who      TEXT NOT NULL,
    host     TEXT NOT NULL,
    why      TEXT NOT NULL,
    what     TEXT NOT NULL,
    asked_by INTEGER,
    digest   BLOB NOT NULL
) STRICT;

-- Where it ends, and the key that its digests are made with: sealed, where the inbox is.
CREATE TABLE operator_log_end (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    seq    INTEGER NOT NULL,
    digest BLOB NOT NULL,
    tag    BLOB NOT NULL,
    key    BLOB NOT NULL
) STRICT;

-- How far a comparison with the provider's own list of events has come, by source.
CREATE TABLE reconciliation (
    source     TEXT PRIMARY KEY,
    -- Who is at it, and until when nobody else may begin; NULL when it is over.
    token      BLOB,
    held_until INTEGER,
    begun_at   INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    -- The page to go on with, as the provider named it; NULL for the first one.
    place      TEXT,
    listed     INTEGER NOT NULL DEFAULT 0,
    missing    INTEGER NOT NULL DEFAULT 0,
    taken      INTEGER NOT NULL DEFAULT 0,
    ended_at   INTEGER,
    error      TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
