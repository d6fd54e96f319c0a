-- Who may use the admin API. Of a token nothing is kept but its digest: see domain/access.py.
CREATE TABLE landfast.token (
    digest     bytea PRIMARY KEY,
    name       text NOT NULL,
    role       text NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE UNIQUE INDEX token_in_use ON landfast.token (name) WHERE revoked_at IS NULL;
