-- $1: the states that it takes. A run that is not given is any. $2: whether the commit may be lazy, which an operator's
-- may not. $3: who decided. `noted` is the reason in the line of history, which may be what is gone from the shelf.
WITH lazily AS MATERIALIZED (
    SELECT CASE WHEN $2::boolean THEN set_config('synchronous_commit', 'off', true) ELSE '' END AS setting
),
settled AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $4::bytea[], $5::integer[], $6::text[], $7::text[], $8::bytea[], $9::text[], $10::bytea[], $11::text[],
        $12::text[], $13::text[], $14::text[], $15::float8[]
    ) WITH ORDINALITY AS s (
        event_id, run, signal, state, attempts, noted, tries, handler, reason, error, message, due_in, place
    )
),
moved AS (
    UPDATE landfast.shelf AS f
    SET
        state = s.state, due_at = landfast.clock() + make_interval(secs => s.due_in),
        tries = coalesce(s.tries, f.tries), handler = s.handler, reason = s.reason, error = s.error,
        message = s.message
    FROM settled AS s
    WHERE f.event_id = s.event_id AND f.run = coalesce(s.run, f.run) AND f.state = ANY ($1::text[])
    RETURNING f.received_at, f.event_id, f.run, f.forced, s.signal, s.state, s.attempts, s.noted, s.place
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, who)
    SELECT received_at, event_id, landfast.clock(), run, forced, signal, state, attempts, noted, $3 FROM moved
)
SELECT place FROM moved CROSS JOIN lazily WHERE setting IS NOT NULL
