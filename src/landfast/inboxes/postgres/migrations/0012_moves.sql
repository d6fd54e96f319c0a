-- By whether there is a time, and not by the name of a state: so no statement has to name it to be led here.
DROP INDEX landfast.shelf_due;
CREATE INDEX shelf_due ON landfast.shelf (due_at) WHERE due_at IS NOT NULL;

-- The signal that no handler matched has another name.
UPDATE landfast.history SET signal = 'no_handler' WHERE signal = 'shelve';
