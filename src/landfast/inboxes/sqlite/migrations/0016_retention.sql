-- When headers and body went, because their time was over: the row stays for as long as the event has to be known again.
ALTER TABLE body ADD COLUMN expired_at INTEGER;

-- Whose turn it is to remove what is old, and how far that pass has come. One row.
CREATE TABLE retention (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    holder   BLOB,
    until    INTEGER,
    began_at INTEGER,
    ended_at INTEGER,
    phase    TEXT NOT NULL DEFAULT '',
    after_at INTEGER NOT NULL DEFAULT 0,
    after_id BLOB NOT NULL DEFAULT x'',
    CHECK ((holder IS NULL) = (until IS NULL))
) STRICT;
INSERT INTO retention (one) VALUES (1);

DROP VIEW summary;
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
       coalesce(r.count, 0) AS redelivered,
       e.erased_at,
       b.expired_at
FROM body b
LEFT JOIN work w ON w.event_id = b.event_id
LEFT JOIN shelf s ON s.body_seq = b.seq AND s.event_id = b.event_id
LEFT JOIN redelivery r ON r.event_id = b.event_id
LEFT JOIN erasure e ON e.event_id = b.event_id
LEFT JOIN history h ON h.seq = (
    SELECT max(n.seq) FROM history n WHERE n.received_at = b.received_at AND n.event_id = b.event_id);
