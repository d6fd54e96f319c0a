-- Receipts expire. An inbox names those of its old events that live, and says up to which moment it has named them all.
ALTER TABLE landfast_ledger_inbox ADD COLUMN kept_to INTEGER;

CREATE TABLE landfast_kept (
    digest  BLOB    NOT NULL PRIMARY KEY,
    inbox   BLOB    NOT NULL,
    seen_at INTEGER NOT NULL
) WITHOUT ROWID;
