-- What is stored is counted in the transaction that stores it, one row for each boot, source and 1,000 batches. A slot
-- below zero is a drainer's: those events come out of a spool or broker, and their senders were answered before.
CREATE TABLE counted (
    boot     BLOB NOT NULL,
    slot     INTEGER NOT NULL,
    source   TEXT NOT NULL,
    stored   INTEGER NOT NULL,
    deliveries INTEGER NOT NULL,
    PRIMARY KEY (boot, slot, source)
) STRICT, WITHOUT ROWID;

-- Counts that can be carried forward: of boots that ended, and of events that are done up to the mark `done`.
CREATE TABLE total (
    name   TEXT NOT NULL,
    source TEXT NOT NULL,
    value  INTEGER NOT NULL,
    PRIMARY KEY (name, source)
) STRICT, WITHOUT ROWID;

-- How far something has come in the history: `done` is counted up to its mark, `audit` is proven up to its newest.
CREATE TABLE mark (
    name  TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    nonce BLOB NOT NULL,
    PRIMARY KEY (name, seq)
) STRICT, WITHOUT ROWID;

-- `was` is the state before, where that was done: so "done" is a sum over lines, and can be carried forward. `handlers`
-- are those that made the event done, one a line; NULL in what was written before.
ALTER TABLE history ADD COLUMN was TEXT NOT NULL DEFAULT '';
ALTER TABLE history ADD COLUMN handlers TEXT;

ALTER TABLE tally ADD COLUMN elsewhere INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tally ADD COLUMN requests_elsewhere INTEGER NOT NULL DEFAULT 0;

-- Whether the boot counts what it stores. Those of before did not, and owe nothing.
ALTER TABLE boot ADD COLUMN owes INTEGER NOT NULL DEFAULT 0;

-- What was stored before is counted once, here.
INSERT INTO total (name, source, value) SELECT 'recorded', '', count(*) FROM identity;
INSERT INTO total (name, source, value)
SELECT 'done', '', count(*) FROM identity i JOIN summary s ON s.seq = i.seq WHERE s.state = 'done';
INSERT INTO mark (name, seq, nonce) SELECT 'done', coalesce(max(seq), 0), x'' FROM history;
