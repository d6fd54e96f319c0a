-- Proofs that do not bind the body, each with the digest of the first body that it came with.
CREATE TABLE landfast.proof (
    proof bytea PRIMARY KEY CHECK (length(proof) = 16),
    digest bytea NOT NULL CHECK (length(digest) = 32),
    received_at timestamptz NOT NULL
);
