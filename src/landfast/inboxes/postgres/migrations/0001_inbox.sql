-- Every statement of the inbox takes its time from here, so that a test can move it.
CREATE FUNCTION landfast.clock() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now()';

CREATE TABLE landfast.meta (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    inbox_id bytea NOT NULL CHECK (length(inbox_id) = 16),
    ledger text,
    fingerprint text NOT NULL DEFAULT ''
);

-- (source, key) is unique here and nowhere else: the event id is the digest of both. Narrow, because it outlives bodies.
CREATE TABLE landfast.identity (
    event_id bytea PRIMARY KEY,
    received_at timestamptz NOT NULL
);

-- Never updated, and dropped by the week: the received_at that identity fixed names the partition.
CREATE TABLE landfast.body (
    received_at timestamptz NOT NULL,
    event_id bytea NOT NULL,
    source text NOT NULL CHECK (char_length(source) <= 100),
    key text NOT NULL CHECK (char_length(key) <= 512),
    type text NOT NULL CHECK (char_length(type) <= 512),
    entity text CHECK (char_length(entity) <= 512),
    occurred_at timestamptz,
    headers bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (received_at, event_id)
) PARTITION BY RANGE (received_at);

CREATE TABLE landfast.body_default PARTITION OF landfast.body DEFAULT;

-- Ready and claimed events only, so that claiming costs the same behind any history. The lease columns are in no index
-- and half of each page is kept free: a claim is a HOT update. Without a token an event is ready, with one it is claimed.
CREATE TABLE landfast.work (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id bytea NOT NULL UNIQUE,
    received_at timestamptz NOT NULL,
    source text NOT NULL,
    lane text,
    type text NOT NULL,
    run integer NOT NULL DEFAULT 1,
    forced boolean NOT NULL DEFAULT false,
    suspect boolean NOT NULL DEFAULT false,
    crashes integer NOT NULL DEFAULT 0,
    tries bytea NOT NULL DEFAULT '{}',
    token bytea,
    leased_until timestamptz,
    CHECK ((token IS NULL) = (leased_until IS NULL))
) WITH (
    fillfactor = 50,
    -- Every row is dead within seconds: vacuum by count, at full speed, or claims wade through what is finished.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- What is not runnable waits here: for a time (delayed), a handler (unhandled) or an operator (dead).
CREATE TABLE landfast.shelf (
    event_id bytea PRIMARY KEY,
    state text NOT NULL CHECK (state IN ('delayed', 'unhandled', 'dead')),
    due_at timestamptz,
    run integer NOT NULL,
    forced boolean NOT NULL,
    suspect boolean NOT NULL,
    crashes integer NOT NULL,
    tries bytea NOT NULL,
    handler text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    error text NOT NULL DEFAULT '',
    message text NOT NULL DEFAULT '',
    received_at timestamptz NOT NULL,
    source text NOT NULL,
    lane text,
    type text NOT NULL,
    CHECK ((state = 'delayed') = (due_at IS NOT NULL))
);

CREATE INDEX shelf_due ON landfast.shelf (due_at) WHERE state = 'delayed';
CREATE INDEX shelf_listing ON landfast.shelf (state, received_at, event_id);

-- Append-only. An event in neither work nor shelf whose newest line says done is done: that is stored nowhere else, so
-- whatever takes an event out of done adds a line. A sequence of its own: partitioned tables take no identity column
-- before PostgreSQL 17.
CREATE SEQUENCE landfast.history_seq;

CREATE TABLE landfast.history (
    received_at timestamptz NOT NULL,
    event_id bytea NOT NULL,
    seq bigint NOT NULL DEFAULT nextval('landfast.history_seq'),
    at timestamptz NOT NULL,
    run integer NOT NULL,
    forced boolean NOT NULL,
    signal text NOT NULL,
    state text NOT NULL,
    attempts bytea NOT NULL DEFAULT '[]',
    reason text NOT NULL DEFAULT '',
    who text NOT NULL DEFAULT '',
    PRIMARY KEY (received_at, event_id, seq)
) PARTITION BY RANGE (received_at);

CREATE TABLE landfast.history_default PARTITION OF landfast.history DEFAULT;

CREATE TABLE landfast.boot (
    boot bytea PRIMARY KEY,
    reported_at timestamptz NOT NULL,
    ended boolean NOT NULL
);

CREATE TABLE landfast.tally (
    boot bytea NOT NULL,
    source text NOT NULL,
    received bigint NOT NULL,
    stored bigint NOT NULL,
    duplicate bigint NOT NULL,
    rejected bigint NOT NULL,
    PRIMARY KEY (boot, source)
);

CREATE TABLE landfast.redelivery (
    event_id bytea PRIMARY KEY,
    count bigint NOT NULL
) WITH (fillfactor = 70);

-- Each event with the state that it is in, for people; processing never reads it.
CREATE VIEW landfast.event AS
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
    coalesce(r.count, 0) AS redelivered
FROM landfast.body AS b
LEFT JOIN landfast.work AS w ON w.event_id = b.event_id
LEFT JOIN landfast.shelf AS f ON f.event_id = b.event_id
LEFT JOIN landfast.redelivery AS r ON r.event_id = b.event_id
LEFT JOIN LATERAL (
    SELECT h.state, h.run, h.reason FROM landfast.history AS h
    WHERE h.received_at = b.received_at AND h.event_id = b.event_id AND w.event_id IS NULL AND f.event_id IS NULL
    ORDER BY h.seq DESC LIMIT 1
) AS newest ON true;

-- The partitions of last week, this one and `weeks` to come; how many were made. Whatever has no partition yet goes to
-- the default one, so being late costs only a slower clean-up. The locks that it needs stop intake for a moment: it waits
-- a second for them at most, and takes none where nothing is missing.
CREATE FUNCTION landfast.prepare(weeks integer) RETURNS integer LANGUAGE plpgsql
SET timezone = 'UTC' SET lock_timeout = '1s' AS $$
DECLARE
    monday timestamptz;
    parent text;
    child text;
    made integer := 0;
BEGIN
    FOR week IN -1 .. weeks LOOP
        monday := date_trunc('week', landfast.clock()) + week * interval '7 days';
        FOREACH parent IN ARRAY ARRAY['body', 'history'] LOOP
            child := parent || to_char(monday, '_IYYY"w"IW');
            CONTINUE WHEN to_regclass('landfast.' || child) IS NOT NULL;
            BEGIN
                EXECUTE format(
                    'CREATE TABLE IF NOT EXISTS landfast.%I PARTITION OF landfast.%I FOR VALUES FROM (%L) TO (%L)',
                    child, parent, monday, monday + interval '7 days'
                );
                made := made + 1;
            EXCEPTION
                WHEN check_violation THEN NULL; -- rows of that week are in the default partition already: they stay there
                WHEN unique_violation OR duplicate_table THEN NULL; -- another process was faster
            END;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
