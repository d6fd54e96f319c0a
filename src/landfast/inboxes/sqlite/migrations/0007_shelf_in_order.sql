-- The shelf is kept in the order of arrival. Ids are random: by them each move changed a page of its own, and a full shelf
-- cost more than an empty one. Who knows only the id asks `identity` for the place.
DROP VIEW summary;

CREATE TABLE ordered_shelf (
    body_seq    INTEGER NOT NULL,
    event_id    BLOB NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('delayed', 'unhandled', 'dead', 'held', 'paused')),
    due_at      INTEGER CHECK ((due_at IS NOT NULL) = (state = 'delayed')),
    received_at INTEGER NOT NULL,
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
    message     TEXT NOT NULL,
    PRIMARY KEY (body_seq, event_id)
) STRICT, WITHOUT ROWID;
INSERT INTO ordered_shelf
SELECT body_seq, event_id, state, due_at, received_at, source, type, lane, run, forced, suspect, crashes, tries, handler,
       reason, error, message
FROM shelf
ORDER BY body_seq;
DROP TABLE shelf;
ALTER TABLE ordered_shelf RENAME TO shelf;
CREATE INDEX shelf_by_due ON shelf (due_at) WHERE state = 'delayed';
CREATE INDEX shelf_by_arrival ON shelf (state, received_at, event_id);
CREATE INDEX shelf_unhandled ON shelf (source, type, received_at, event_id) WHERE state = 'unhandled';

-- As before: they went with the table, and what they counted is still true.
CREATE TRIGGER shelf_unhandled_in AFTER INSERT ON shelf WHEN NEW.state = 'unhandled' BEGIN
    INSERT INTO unhandled_count (source, type, n) VALUES (NEW.source, NEW.type, 1)
    ON CONFLICT (source, type) DO UPDATE SET n = n + 1;
END;
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
LEFT JOIN shelf s ON s.body_seq = b.seq AND s.event_id = b.event_id
LEFT JOIN redelivery r ON r.event_id = b.event_id
LEFT JOIN history h ON h.seq = (
    SELECT max(n.seq) FROM history n WHERE n.received_at = b.received_at AND n.event_id = b.event_id);
