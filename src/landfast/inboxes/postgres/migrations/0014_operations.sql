-- Who changed what by hand. The digest of each line covers the one before: see domain/operator_log.py.
CREATE TABLE landfast.operator_log (
    seq bigint PRIMARY KEY,
    at timestamptz NOT NULL,
    action text NOT NULL,
    step text NOT NULL CHECK (step IN ('asked', 'done', 'failed')),
    who text NOT NULL,
    host text NOT NULL,
    why text NOT NULL,
    what text NOT NULL,
    asked_by bigint,
    digest bytea NOT NULL
);

-- Where it ends, and the key that its digests are made with: sealed, where the inbox is. Whoever adds a line locks this
-- row first.
CREATE TABLE landfast.operator_log_end (
    id integer PRIMARY KEY CHECK (id = 1),
    seq bigint NOT NULL,
    digest bytea NOT NULL,
    tag bytea NOT NULL,
    key bytea NOT NULL
);

-- How far a comparison with the provider's own list of events has come, by source.
CREATE TABLE landfast.reconciliation (
    source text PRIMARY KEY,
    -- Who is at it, and until when nobody else may begin; NULL when it is over.
    token bytea,
    held_until timestamptz,
    begun_at timestamptz NOT NULL,
    since timestamptz NOT NULL,
    -- The page to go on with, as the provider named it; NULL for the first one.
    place text,
    listed bigint NOT NULL DEFAULT 0,
    missing bigint NOT NULL DEFAULT 0,
    taken bigint NOT NULL DEFAULT 0,
    ended_at timestamptz,
    error text NOT NULL DEFAULT ''
);
