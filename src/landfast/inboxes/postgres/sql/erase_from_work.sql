WITH erased AS (
    DELETE FROM landfast.work WHERE event_id = ANY ($1::bytea[]) AND token IS NULL
    RETURNING event_id, run, forced, suspect, crashes, received_at, source, type
),
shelved AS (
    INSERT INTO landfast.shelf (
        event_id, state, run, forced, suspect, crashes, tries, reason, received_at, source, type
    )
    SELECT event_id, 'dead', run, forced, suspect, crashes, '{}', 'erased', received_at, source, type FROM erased
)
INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason, who)
SELECT received_at, event_id, landfast.clock(), run, forced, 'erase', 'dead', 'erased', $2 FROM erased
