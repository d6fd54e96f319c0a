-- What flowed in each minute, added up as it flows.
CREATE TABLE rate (
    seconds INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    meter TEXT NOT NULL,
    source TEXT NOT NULL,
    type TEXT NOT NULL,
    handler TEXT NOT NULL,
    detail TEXT NOT NULL,
    count INTEGER NOT NULL,
    histogram TEXT NOT NULL,
    PRIMARY KEY (seconds, minute, meter, source, type, handler, detail)
);

-- When each of them last counted anything: so nobody looks through the minutes for it.
CREATE TABLE rate_latest (
    meter TEXT NOT NULL,
    source TEXT NOT NULL,
    handler TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (meter, source, handler)
);

-- The newest report of each boot that was added: one that comes again adds nothing.
CREATE TABLE rate_report (
    boot BLOB PRIMARY KEY NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL
);

CREATE TABLE heartbeat (
    boot BLOB PRIMARY KEY NOT NULL,
    role TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    skew REAL NOT NULL,
    doing TEXT NOT NULL
);

-- Requests that were refused. Nothing of them was proven: no body, and of the headers the names alone.
CREATE TABLE rejection (
    minute INTEGER NOT NULL,
    boot BLOB NOT NULL,
    source TEXT NOT NULL,
    cause TEXT NOT NULL,
    address TEXT NOT NULL,
    at INTEGER NOT NULL,
    path TEXT NOT NULL,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (minute, boot, source, cause, address)
);
