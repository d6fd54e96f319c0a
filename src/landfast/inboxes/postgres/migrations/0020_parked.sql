-- Events that wait for their entity to move, or for a deadline. The states are those that were there, and one more.
DO $$
DECLARE
    states text := (
        SELECT pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = 'landfast.shelf'::regclass AND conname = 'shelf_state_check'
    );
BEGIN
    EXECUTE 'ALTER TABLE landfast.shelf DROP CONSTRAINT shelf_state_check, ADD CONSTRAINT shelf_state_check '
        || replace(states, '''paused''::text', '''paused''::text, ''parked''::text');
END $$;
ALTER TABLE landfast.shelf
    DROP CONSTRAINT shelf_check,
    ADD CONSTRAINT shelf_check CHECK ((state IN ('delayed', 'parked')) = (due_at IS NOT NULL));

CREATE INDEX shelf_parked ON landfast.shelf (reason, received_at, event_id) WHERE state = 'parked';
