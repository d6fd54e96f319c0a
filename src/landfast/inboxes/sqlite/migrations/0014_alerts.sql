-- Work that one process at a time does for all: evaluating alerts, walking dead letters.
CREATE TABLE duty (
    task   TEXT NOT NULL PRIMARY KEY,
    holder BLOB NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each incident. Of those that are not resolved there is one for each name and subject.
CREATE TABLE alert (
    incident    TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    subject     TEXT NOT NULL,
    severity    TEXT NOT NULL,
    sentence    TEXT NOT NULL,
    fix         TEXT NOT NULL,
    figures     TEXT NOT NULL,
    since       INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    told_at     INTEGER,
    told        INTEGER NOT NULL,
    resolved_at INTEGER
) STRICT;
CREATE UNIQUE INDEX alert_firing ON alert (name, subject) WHERE resolved_at IS NULL;
CREATE INDEX alert_resolved ON alert (resolved_at) WHERE resolved_at IS NOT NULL;

CREATE TABLE silence (
    name    TEXT NOT NULL,
    subject TEXT NOT NULL,
    until   INTEGER NOT NULL,
    who     TEXT NOT NULL,
    why     TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (name, subject)
) STRICT, WITHOUT ROWID;

-- Rates by the quarter of an hour, without types. A row without meter and name says that the quarter was counted.
CREATE TABLE volume (
    quarter INTEGER NOT NULL,
    meter   TEXT NOT NULL,
    name    TEXT NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (quarter, meter, name)
) STRICT, WITHOUT ROWID;

-- What waits for a receiver outside. Whoever takes one moves its due_at; what was received is deleted.
CREATE TABLE message (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL,
    sink        TEXT NOT NULL,
    incident    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    content     TEXT NOT NULL,
    made_at     INTEGER NOT NULL,
    due_at      INTEGER NOT NULL,
    tries       INTEGER NOT NULL DEFAULT 0,
    error       TEXT NOT NULL DEFAULT '',
    given_up_at INTEGER,
    UNIQUE (id, sink)
) STRICT;
CREATE INDEX message_by_incident ON message (sink, incident, seq) WHERE given_up_at IS NULL;

-- How far each function of the user's that hears of dead letters has come in the history.
CREATE TABLE walk (
    name TEXT NOT NULL PRIMARY KEY,
    seq  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
