-- Times are microseconds since 1970, UTC. STRICT, so that a value of another type is refused and not converted.

-- Who this inbox is. One row.
CREATE TABLE meta (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    inbox       BLOB NOT NULL CHECK (length(inbox) = 16),
    ledger      TEXT,
    fingerprint TEXT NOT NULL
) STRICT;

-- The fence against duplicates, narrow and apart from the bodies, so that it can outlive them.
CREATE TABLE identity (
    event_id    BLOB NOT NULL PRIMARY KEY CHECK (length(event_id) = 16),
    received_at INTEGER NOT NULL,
    seq         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What came in, in order of arrival; never updated. The body is the last column: reading the others does not load it.
CREATE TABLE body (
    seq         INTEGER PRIMARY KEY,
    event_id    BLOB NOT NULL,
    received_at INTEGER NOT NULL,
    source      TEXT NOT NULL CHECK (length(source) <= 100),
    key         TEXT NOT NULL CHECK (length(key) <= 512),
    type        TEXT NOT NULL CHECK (length(type) <= 512),
    entity      TEXT CHECK (length(entity) <= 512),
    occurred_at INTEGER,
    headers     BLOB NOT NULL,
    body        BLOB NOT NULL
) STRICT;
CREATE INDEX body_by_arrival ON body (received_at, event_id);

-- The small hot table: ready and claimed only, in the order in which they became ready.
CREATE TABLE work (
    seq          INTEGER PRIMARY KEY,
    event_id     BLOB NOT NULL UNIQUE,
    received_at  INTEGER NOT NULL,
    body_seq     INTEGER NOT NULL,
    source       TEXT NOT NULL,
    lane         TEXT,
    run          INTEGER NOT NULL,
    forced       INTEGER NOT NULL,
    suspect      INTEGER NOT NULL,
    crashes      INTEGER NOT NULL,
    tries        TEXT NOT NULL,
    token        BLOB,
    leased_until INTEGER,
    CHECK ((token IS NULL) = (leased_until IS NULL))
) STRICT;

-- What waits: for its time, for a handler, for an operator.
CREATE TABLE shelf (
    event_id    BLOB NOT NULL PRIMARY KEY,
    state       TEXT NOT NULL CHECK (state IN ('delayed', 'unhandled', 'dead')),
    due_at      INTEGER CHECK ((due_at IS NOT NULL) = (state = 'delayed')),
    received_at INTEGER NOT NULL,
    body_seq    INTEGER NOT NULL,
    source      TEXT NOT NULL,
    lane        TEXT,
    run         INTEGER NOT NULL,
    forced      INTEGER NOT NULL,
    suspect     INTEGER NOT NULL,
    crashes     INTEGER NOT NULL,
    tries       TEXT NOT NULL,
    handler     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    error       TEXT NOT NULL,
    message     TEXT NOT NULL
) STRICT;
CREATE INDEX shelf_by_due ON shelf (due_at) WHERE state = 'delayed';
CREATE INDEX shelf_by_arrival ON shelf (state, received_at, event_id);

-- Append-only. An event whose newest line says done is done, and is in neither work nor shelf.
CREATE TABLE history (
    seq         INTEGER PRIMARY KEY,
    received_at INTEGER NOT NULL,
    event_id    BLOB NOT NULL,
    at          INTEGER NOT NULL,
    run         INTEGER NOT NULL,
    signal      TEXT NOT NULL,
    state       TEXT NOT NULL,
    attempts    TEXT NOT NULL,
    reason      TEXT NOT NULL,
    who         TEXT NOT NULL
) STRICT;
CREATE INDEX history_by_event ON history (received_at, event_id);

-- What each boot of an intake process counted.
CREATE TABLE boot (
    boot    BLOB NOT NULL PRIMARY KEY,
    seen_at INTEGER NOT NULL,
    ended   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tally (
    boot      BLOB NOT NULL,
    source    TEXT NOT NULL,
    received  INTEGER NOT NULL,
    stored    INTEGER NOT NULL,
    duplicate INTEGER NOT NULL,
    rejected  INTEGER NOT NULL,
    PRIMARY KEY (boot, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE redelivery (
    event_id BLOB NOT NULL PRIMARY KEY,
    count    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every event as people see it. The state is derived from where the event is, and stored nowhere twice.
CREATE VIEW summary AS
SELECT b.seq, b.event_id, b.source, b.key, b.type, b.entity, b.occurred_at, b.received_at,
       CASE WHEN w.seq IS NULL THEN coalesce(s.state, h.state)
            WHEN w.token IS NULL THEN 'ready'
            ELSE 'claimed' END AS state,
       coalesce(w.run, s.run, h.run) AS run,
       coalesce(s.reason, '') AS reason,
       coalesce(s.error, '') AS error,
       coalesce(s.message, '') AS message,
       coalesce(s.handler, '') AS handler,
       s.due_at,
       coalesce(r.count, 0) AS redelivered
FROM body b
LEFT JOIN work w ON w.event_id = b.event_id
LEFT JOIN shelf s ON s.event_id = b.event_id
LEFT JOIN redelivery r ON r.event_id = b.event_id
LEFT JOIN history h ON h.seq = (
    SELECT max(n.seq) FROM history n WHERE n.received_at = b.received_at AND n.event_id = b.event_id);
