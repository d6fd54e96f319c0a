-- Done without a handler: by the holder of the token only, because no receipt has decided it.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT * FROM unnest($1::bytea[], $2::integer[], $3::bytea[], $4::text[], $5::bytea[])
    WITH ORDINALITY AS s (event_id, run, attempts, reason, token, place)
),
moved AS (
    DELETE FROM landfast.work AS w USING settled AS s
    WHERE w.event_id = s.event_id AND w.run = s.run AND w.token = s.token
    RETURNING w.received_at, w.event_id, w.run, w.forced, s.attempts, s.reason, s.place
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, handlers)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'dismiss', 'done', attempts, reason, '' FROM moved
)
SELECT place FROM moved CROSS JOIN lazily WHERE setting = 'off'
