-- Work that one process at a time does for all: evaluating alerts, walking dead letters.
CREATE TABLE landfast.duty (
    task text PRIMARY KEY,
    holder bytea NOT NULL,
    until timestamptz NOT NULL
);

-- One row for each incident. Of those that are not resolved there is one for each name and subject.
CREATE TABLE landfast.alert (
    incident text PRIMARY KEY,
    name text NOT NULL,
    subject text NOT NULL,
    severity text NOT NULL,
    sentence text NOT NULL,
    fix text NOT NULL,
    figures text NOT NULL,
    since timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    told_at timestamptz,
    told integer NOT NULL,
    resolved_at timestamptz
);
CREATE UNIQUE INDEX alert_firing ON landfast.alert (name, subject) WHERE resolved_at IS NULL;
CREATE INDEX alert_resolved ON landfast.alert (resolved_at) WHERE resolved_at IS NOT NULL;

CREATE TABLE landfast.silence (
    name text NOT NULL,
    subject text NOT NULL,
    until timestamptz NOT NULL,
    who text NOT NULL,
    why text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (name, subject)
);

-- Rates by the quarter of an hour, without types. A row without meter and name says that the quarter was counted.
CREATE TABLE landfast.volume (
    quarter timestamptz NOT NULL,
    meter text NOT NULL,
    name text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (quarter, meter, name)
);

-- What waits for a receiver outside. Whoever takes one moves its due_at; what was received is deleted.
CREATE TABLE landfast.message (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL,
    sink text NOT NULL,
    incident text NOT NULL,
    kind text NOT NULL,
    content text NOT NULL,
    made_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    given_up_at timestamptz,
    UNIQUE (id, sink)
);
CREATE INDEX message_by_incident ON landfast.message (sink, incident, seq) WHERE given_up_at IS NULL;

-- How far each function of the user's that hears of dead letters has come in the history.
CREATE TABLE landfast.walk (
    name text PRIMARY KEY,
    seq bigint NOT NULL
);
