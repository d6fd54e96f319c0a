-- The tombstone has decided: by event and run, under any token or none.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bytea[], $2::integer[], $3::bytea[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::text[]
    ) WITH ORDINALITY AS s (event_id, run, attempts, reason, tries, handler, error, message, place)
),
from_work AS (
    DELETE FROM landfast.work AS w USING settled AS s
    WHERE w.event_id = s.event_id AND w.run = s.run
    RETURNING
        w.event_id, w.run, w.forced, w.suspect, w.crashes, coalesce(s.tries, w.tries) AS tries, s.handler, s.reason,
        s.error, s.message, w.received_at, w.source, w.lane, w.type, s.attempts, s.place
),
shelved AS (
    INSERT INTO landfast.shelf (
        event_id, state, run, forced, suspect, crashes, tries, handler, reason, error, message, received_at, source,
        lane, type
    )
    SELECT
        event_id, 'dead', run, forced, suspect, crashes, tries, handler, reason, error, message, received_at, source,
        lane, type
    FROM from_work
),
on_shelf AS (
    UPDATE landfast.shelf AS f
    SET
        state = 'dead', due_at = NULL, tries = coalesce(s.tries, f.tries), handler = s.handler, reason = s.reason,
        error = s.error, message = s.message
    FROM settled AS s
    WHERE f.event_id = s.event_id AND f.run = s.run AND f.state IN ('delayed', 'unhandled', 'paused')
    RETURNING f.received_at, f.event_id, f.run, f.forced, s.attempts, s.reason, s.place
),
moved AS (
    SELECT received_at, event_id, run, forced, attempts, reason, place FROM from_work
    UNION ALL SELECT * FROM on_shelf
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'bury', 'dead', attempts, reason FROM moved
)
SELECT place FROM moved CROSS JOIN lazily WHERE setting = 'off'
