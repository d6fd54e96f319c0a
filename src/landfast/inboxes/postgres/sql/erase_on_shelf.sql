WITH erased AS (
    UPDATE landfast.shelf
    SET
        state = 'dead', due_at = NULL, lane = NULL, tries = '{}', handler = '', reason = 'erased', error = '', message = ''
    WHERE event_id = ANY ($1::bytea[])
    RETURNING received_at, event_id, run, forced
)
INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason, who)
SELECT received_at, event_id, landfast.clock(), run, forced, 'erase', 'dead', 'erased', $2 FROM erased
