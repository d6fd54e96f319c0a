-- Who may use the admin API. Of a token nothing is kept but its digest: see domain/access.py.
CREATE TABLE token (
    digest     BLOB PRIMARY KEY,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;
CREATE UNIQUE INDEX token_in_use ON token (name) WHERE revoked_at IS NULL;
