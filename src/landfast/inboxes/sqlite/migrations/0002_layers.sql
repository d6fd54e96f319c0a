-- Two more kinds of waiting: for an operator who decides whether it is processed at all (held), and for a switch to be
-- released (paused). SQLite cannot change a CHECK, so the table is made anew and everything on it is moved over.
DROP VIEW summary;

CREATE TABLE wider_shelf (
    event_id    BLOB NOT NULL PRIMARY KEY,
    state       TEXT NOT NULL CHECK (state IN ('delayed', 'unhandled', 'dead', 'held', 'paused')),
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
INSERT INTO wider_shelf SELECT * FROM shelf;
DROP TABLE shelf;
ALTER TABLE wider_shelf RENAME TO shelf;
CREATE INDEX shelf_by_due ON shelf (due_at) WHERE state = 'delayed';
CREATE INDEX shelf_by_arrival ON shelf (state, received_at, event_id);

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

-- Which life of this inbox it is: drawn anew when a cache is found to know more than the inbox, which was restored.
ALTER TABLE meta ADD COLUMN epoch BLOB NOT NULL DEFAULT x'00000000' CHECK (length(epoch) = 4);

-- What all workers leave alone: paused sources and handlers, open breakers. Released, a switch is gone.
CREATE TABLE switch (
    kind  TEXT NOT NULL,
    name  TEXT NOT NULL,
    why   TEXT NOT NULL,
    who   TEXT NOT NULL,
    at    INTEGER NOT NULL,
    until INTEGER,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- What each boot counts besides deliveries: hits of its caches, records in its spool.
CREATE TABLE meter (
    boot  BLOB NOT NULL,
    name  TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (boot, name)
) STRICT, WITHOUT ROWID;
