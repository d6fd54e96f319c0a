-- Something of it is switched off; the reason names the switch.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bytea[], $2::integer[], $3::bytea[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::text[],
        $9::bytea[]
    ) WITH ORDINALITY AS s (event_id, run, attempts, reason, tries, handler, error, message, token, place)
),
moved AS (
    DELETE FROM landfast.work AS w USING settled AS s
    WHERE w.event_id = s.event_id AND w.run = s.run AND w.token = s.token
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
        event_id, 'paused', run, forced, suspect, crashes, tries,
        handler, reason, error, message, received_at, source, lane, type
    FROM moved
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'pause', 'paused', attempts, reason FROM moved
)
SELECT place FROM moved CROSS JOIN lazily WHERE setting = 'off'
