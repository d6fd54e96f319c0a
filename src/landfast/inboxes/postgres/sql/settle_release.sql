WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT * FROM unnest($1::bytea[], $2::integer[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[])
    WITH ORDINALITY AS s (event_id, run, attempts, reason, token, tries, place)
),
moved AS (
    UPDATE landfast.work AS w
    SET token = NULL, leased_until = NULL, tries = coalesce(s.tries, w.tries)
    FROM settled AS s
    WHERE w.event_id = s.event_id AND w.run = s.run AND w.token = s.token
    RETURNING w.received_at, w.event_id, w.run, w.forced, s.attempts, s.reason, s.place
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'release', 'ready', attempts, reason FROM moved
)
SELECT place FROM moved CROSS JOIN lazily WHERE setting = 'off'
