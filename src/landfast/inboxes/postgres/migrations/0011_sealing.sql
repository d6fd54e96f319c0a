-- Keys that wrap data keys, each wrapped by the master key of that name, which is in no database.
CREATE TABLE landfast.store_key (
    id bytea PRIMARY KEY,
    wrapped bytea NOT NULL,
    master text NOT NULL
);

-- The data key of a sealed event, wrapped; NULL where it is not sealed, or erased. Here and not beside the body, because
-- this table is small: what VACUUM has to go through to destroy a key is a tenth of what it would be there.
ALTER TABLE landfast.identity ADD COLUMN data_key bytea;

-- What was erased. An inbox that is restored learns it again from the ledger's list.
CREATE TABLE landfast.erasure (
    event_id bytea PRIMARY KEY,
    erased_at timestamptz NOT NULL,
    who text NOT NULL,
    -- Whether nothing is left of it in the tables' files.
    is_clean boolean NOT NULL DEFAULT false
);

CREATE OR REPLACE VIEW landfast.event AS
SELECT
    b.event_id, b.source, b.key, b.type, b.entity, b.occurred_at, b.received_at, b.headers, b.body,
    CASE
        WHEN w.event_id IS NULL THEN coalesce(f.state, newest.state)
        WHEN w.token IS NULL THEN 'ready'
        ELSE 'claimed'
    END AS state,
    coalesce(w.run, f.run, newest.run) AS run,
    coalesce(f.reason, newest.reason, '') AS reason,
    coalesce(f.error, '') AS error,
    coalesce(f.message, '') AS message,
    coalesce(f.handler, '') AS handler,
    f.due_at,
    coalesce(r.count, 0) AS redelivered,
    e.erased_at
FROM landfast.body AS b
LEFT JOIN landfast.work AS w ON w.event_id = b.event_id
LEFT JOIN landfast.shelf AS f ON f.event_id = b.event_id
LEFT JOIN landfast.redelivery AS r ON r.event_id = b.event_id
LEFT JOIN landfast.erasure AS e ON e.event_id = b.event_id
LEFT JOIN LATERAL (
    SELECT h.state, h.run, h.reason FROM landfast.history AS h
    WHERE h.received_at = b.received_at AND h.event_id = b.event_id AND w.event_id IS NULL AND f.event_id IS NULL
    ORDER BY h.seq DESC LIMIT 1
) AS newest ON true;
