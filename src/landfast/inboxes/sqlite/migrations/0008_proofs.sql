-- Proofs that do not bind the body, each with the digest of the first body that it came with.
CREATE TABLE proof (
    proof BLOB NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL,
    received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
