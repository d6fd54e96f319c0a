-- The type stands beside the source wherever an event waits, so that one (source, type) is found without its bodies.
-- The tables are made anew: a column that is added later needs a default, and then a statement could forget it unseen.
DROP VIEW summary;

CREATE TABLE typed_work (
    seq          INTEGER PRIMARY KEY,
    event_id     BLOB NOT NULL UNIQUE,
    received_at  INTEGER NOT NULL,
    body_seq     INTEGER NOT NULL,
    source       TEXT NOT NULL,
    type         TEXT NOT NULL,
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
INSERT INTO typed_work
SELECT w.seq, w.event_id, w.received_at, w.body_seq, w.source, coalesce(b.type, ''), w.lane, w.run, w.forced, w.suspect,
       w.crashes, w.tries, w.token, w.leased_until
FROM work w
LEFT JOIN body b ON b.seq = w.body_seq;
DROP TABLE work;
ALTER TABLE typed_work RENAME TO work;

-- By seq, because each index ends with the rowid.
CREATE INDEX work_by_type ON work (source, type);
-- Leases and suspects are few, whatever waits.
CREATE INDEX work_leased ON work (token) WHERE token IS NOT NULL;
CREATE INDEX work_suspect ON work (seq) WHERE suspect = 1;

CREATE TABLE typed_shelf (
    event_id    BLOB NOT NULL PRIMARY KEY,
    state       TEXT NOT NULL CHECK (state IN ('delayed', 'unhandled', 'dead', 'held', 'paused')),
    due_at      INTEGER CHECK ((due_at IS NOT NULL) = (state = 'delayed')),
    received_at INTEGER NOT NULL,
    body_seq    INTEGER NOT NULL,
    source      TEXT NOT NULL,
    type        TEXT NOT NULL,
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
INSERT INTO typed_shelf
SELECT s.event_id, s.state, s.due_at, s.received_at, s.body_seq, s.source, coalesce(b.type, ''), s.lane, s.run, s.forced,
       s.suspect, s.crashes, s.tries, s.handler, s.reason, s.error, s.message
FROM shelf s
LEFT JOIN body b ON b.seq = s.body_seq;
DROP TABLE shelf;
ALTER TABLE typed_shelf RENAME TO shelf;
CREATE INDEX shelf_by_due ON shelf (due_at) WHERE state = 'delayed';
CREATE INDEX shelf_by_arrival ON shelf (state, received_at, event_id);
CREATE INDEX shelf_unhandled ON shelf (source, type, received_at, event_id) WHERE state = 'unhandled';

-- How many events of each (source, type) are unhandled. The shelf keeps it by itself: no statement that moves an event
-- can forget it, and it commits with the move.
CREATE TABLE unhandled_count (
    source TEXT NOT NULL,
    type   TEXT NOT NULL,
    n      INTEGER NOT NULL CHECK (n > 0),
    PRIMARY KEY (source, type)
) STRICT, WITHOUT ROWID;
INSERT INTO unhandled_count SELECT source, type, count(*) FROM shelf WHERE state = 'unhandled' GROUP BY source, type;

CREATE TRIGGER shelf_unhandled_in AFTER INSERT ON shelf WHEN NEW.state = 'unhandled' BEGIN
    INSERT INTO unhandled_count (source, type, n) VALUES (NEW.source, NEW.type, 1)
    ON CONFLICT (source, type) DO UPDATE SET n = n + 1;
END;
-- The last one first: a count of zero is no row.
CREATE TRIGGER shelf_unhandled_out AFTER DELETE ON shelf WHEN OLD.state = 'unhandled' BEGIN
    DELETE FROM unhandled_count WHERE source = OLD.source AND type = OLD.type AND n = 1;
    UPDATE unhandled_count SET n = n - 1 WHERE source = OLD.source AND type = OLD.type AND changes() = 0;
END;
CREATE TRIGGER shelf_unhandled_elsewhere AFTER UPDATE OF state ON shelf
WHEN OLD.state = 'unhandled' AND NEW.state <> 'unhandled' BEGIN
    DELETE FROM unhandled_count WHERE source = OLD.source AND type = OLD.type AND n = 1;
    UPDATE unhandled_count SET n = n - 1 WHERE source = OLD.source AND type = OLD.type AND changes() = 0;
END;

-- Every event as people see it. The state is derived from where the event is, and stored nowhere twice.
CREATE VIEW summary AS
SELECT b.seq, b.event_id, b.source, b.key, b.type, b.entity, b.occurred_at, b.received_at,
       CASE WHEN w.seq IS NULL THEN coalesce(s.state, h.state)
            WHEN w.token IS NULL THEN 'ready'
            ELSE 'claimed' END AS state,
       coalesce(w.run, s.run, h.run) AS run,
       CASE WHEN w.seq IS NULL THEN coalesce(s.reason, h.reason, '') ELSE '' END AS reason,
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
