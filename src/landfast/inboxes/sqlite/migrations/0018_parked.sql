-- Events that wait for their entity to move, or for a deadline. Only what the table allows changes, and no row of it: so
-- its text is mended, as SQLite's own page on ALTER TABLE has it, and a full shelf is not written anew.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(
    replace(sql, '(state = ''delayed'')', '(state IN (''delayed'', ''parked''))'), '''paused''', '''paused'', ''parked'''
)
WHERE type = 'table' AND name = 'shelf';
PRAGMA writable_schema = RESET;

CREATE INDEX shelf_parked ON shelf (reason, received_at, event_id) WHERE state = 'parked';
