-- Keys that wrap data keys, each wrapped by the master key of that name, which is in no database.
CREATE TABLE store_key (
    id      BLOB NOT NULL PRIMARY KEY,
    wrapped BLOB NOT NULL,
    master  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The data key of each sealed event, by the place of its body. In order of arrival, so that no page is ever split: a row
-- that moves leaves a copy behind. An erased one is overwritten in its place with zeros, for the same reason.
CREATE TABLE data_key (
    seq     INTEGER PRIMARY KEY,
    wrapped BLOB NOT NULL
) STRICT;

-- What was erased. An inbox that is restored learns it again from the ledger's list.
CREATE TABLE erasure (
    event_id  BLOB NOT NULL PRIMARY KEY,
    erased_at INTEGER NOT NULL,
    who       TEXT NOT NULL,
    -- Whether nothing is left of it in the file and its log.
    is_clean  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

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
       e.erased_at
FROM body b
LEFT JOIN work w ON w.event_id = b.event_id
LEFT JOIN shelf s ON s.body_seq = b.seq AND s.event_id = b.event_id
LEFT JOIN redelivery r ON r.event_id = b.event_id
LEFT JOIN erasure e ON e.event_id = b.event_id
LEFT JOIN history h ON h.seq = (
    SELECT max(n.seq) FROM history n WHERE n.received_at = b.received_at AND n.event_id = b.event_id);
