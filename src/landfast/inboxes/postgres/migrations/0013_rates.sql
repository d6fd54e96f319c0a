-- What flowed in each minute, added up as it flows. Room is kept on each page, so that an update is HOT: nothing that
-- changes is in the index.
CREATE TABLE landfast.rate (
    seconds integer NOT NULL,
    minute timestamptz NOT NULL,
    meter text NOT NULL,
    source text NOT NULL,
    type text NOT NULL,
    handler text NOT NULL,
    detail text NOT NULL,
    count bigint NOT NULL,
    histogram bigint[] NOT NULL,
    PRIMARY KEY (seconds, minute, meter, source, type, handler, detail)
) WITH (fillfactor = 50);

-- When each of them last counted anything: so nobody looks through the minutes for it.
CREATE TABLE landfast.rate_latest (
    meter text NOT NULL,
    source text NOT NULL,
    handler text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (meter, source, handler)
) WITH (fillfactor = 50);

-- The newest report of each boot that was added: one that comes again adds nothing.
CREATE TABLE landfast.rate_report (
    boot bytea PRIMARY KEY,
    number bigint NOT NULL,
    at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE landfast.heartbeat (
    boot bytea PRIMARY KEY,
    role text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    skew double precision NOT NULL,
    doing text NOT NULL
) WITH (fillfactor = 50);

-- Requests that were refused. Nothing of them was proven: no body, and of the headers the names alone.
CREATE TABLE landfast.rejection (
    minute timestamptz NOT NULL,
    boot bytea NOT NULL,
    source text NOT NULL,
    cause text NOT NULL,
    address text NOT NULL,
    at timestamptz NOT NULL,
    path text NOT NULL,
    status integer NOT NULL,
    headers text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (minute, boot, source, cause, address)
);
