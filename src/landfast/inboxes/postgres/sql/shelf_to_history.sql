-- $1: the states that it takes. By event and run, because a receipt has decided while it waited.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT * FROM unnest($2::bytea[], $3::integer[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[])
    WITH ORDINALITY AS s (event_id, run, signal, state, attempts, reason, handlers, place)
),
moved AS (
    DELETE FROM landfast.shelf AS f USING settled AS s
    WHERE f.event_id = s.event_id AND f.run = s.run AND f.state = ANY ($1::text[])
    RETURNING
        f.received_at, f.event_id, f.run, f.forced, s.signal, s.state, s.attempts, s.reason, s.handlers, s.place
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, handlers)
    SELECT received_at, event_id, landfast.clock(), run, forced, signal, state, attempts, reason, handlers FROM moved
)
SELECT place FROM moved CROSS JOIN lazily WHERE setting = 'off'
