-- Nobody may write while what is there is counted. First of all, and in the order in which settlements take them.
LOCK TABLE landfast.identity, landfast.work, landfast.shelf, landfast.history IN SHARE ROW EXCLUSIVE MODE;

-- What is stored is counted in the transaction that stores it, one row for each boot, source and 1,000 batches: boots do
-- not meet, and a dump that keeps old rows alive slows nobody down. Room is kept on each page, so that an update is HOT.
-- A slot below zero is a drainer's: those events come out of a spool or broker, and their senders were answered before.
CREATE TABLE landfast.counted (
    boot bytea NOT NULL,
    slot integer NOT NULL,
    source text NOT NULL,
    stored bigint NOT NULL,
    deliveries bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (boot, slot, source)
) WITH (fillfactor = 20);

-- Counts that can be carried forward: of boots that ended, and of events that are done up to the mark `done`.
CREATE TABLE landfast.total (
    name text NOT NULL,
    source text NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (name, source)
);

-- How far something has come in the history: `done` is counted up to its mark, `audit` is proven up to its newest.
CREATE TABLE landfast.mark (
    name text NOT NULL,
    seq bigint NOT NULL,
    nonce bytea NOT NULL,
    PRIMARY KEY (name, seq)
);

-- `was` is the state before, where that was done: so "done" is a sum over lines, and can be carried forward. `handlers`
-- are those that made the event done, one a line; NULL in what was written before.
ALTER TABLE landfast.history ADD COLUMN was text NOT NULL DEFAULT '', ADD COLUMN handlers text;
CREATE INDEX history_by_seq ON landfast.history USING brin (seq) WITH (pages_per_range = 32, autosummarize = on);

ALTER TABLE landfast.tally
    ADD COLUMN elsewhere bigint NOT NULL DEFAULT 0,
    ADD COLUMN requests_elsewhere bigint NOT NULL DEFAULT 0;

-- Whether the boot counts what it stores. Those of before did not, and owe nothing.
ALTER TABLE landfast.boot ADD COLUMN owes boolean NOT NULL DEFAULT false;

-- What was stored before is counted once.
INSERT INTO landfast.total (name, source, value) SELECT 'recorded', '', count(*) FROM landfast.identity;
INSERT INTO landfast.total (name, source, value)
SELECT 'done', '', count(*)
FROM (
    SELECT DISTINCT ON (received_at, event_id) state
    FROM landfast.history ORDER BY received_at, event_id, seq DESC
) AS newest
WHERE state = 'done';
INSERT INTO landfast.mark (name, seq, nonce) SELECT 'done', coalesce(max(seq), 0), '' FROM landfast.history;
