-- Order per entity (ADR 39). The place of an event in its lane, fixed when it is recorded: see domain/lane.py. `holds`:
-- what comes after it in its lane waits for it. `seq` on the shelf: what waits in its lane keeps its age.
ALTER TABLE body ADD COLUMN place BLOB;
ALTER TABLE work ADD COLUMN place BLOB;
ALTER TABLE work ADD COLUMN holds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE shelf ADD COLUMN seq INTEGER;
ALTER TABLE shelf ADD COLUMN place BLOB;
ALTER TABLE shelf ADD COLUMN holds INTEGER NOT NULL DEFAULT 0;

-- One more state: the text of the table is mended, and a full shelf is not written anew.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''paused''', '''paused'', ''queued''') WHERE type = 'table' AND name = 'shelf';
PRAGMA writable_schema = RESET;

CREATE INDEX shelf_lane ON shelf (source, lane, place) WHERE holds;
CREATE INDEX work_lane ON work (source, lane, place) WHERE holds;

-- Sources whose events hold their lanes, because a worker has, or had, an ordered handler for them.
CREATE TABLE ordered_source (
    source TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
