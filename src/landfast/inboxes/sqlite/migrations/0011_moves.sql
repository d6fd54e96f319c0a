-- By whether there is a time, and not by the name of a state: so no statement has to name it to be led here.
DROP INDEX shelf_by_due;
CREATE INDEX shelf_by_due ON shelf (due_at) WHERE due_at IS NOT NULL;

-- The signal that no handler matched has another name.
UPDATE history SET signal = 'no_handler' WHERE signal = 'shelve';
