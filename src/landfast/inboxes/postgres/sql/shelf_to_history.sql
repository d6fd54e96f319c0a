-- $1: the states that it takes. A run that is not given is any. $2: whether the commit may be lazy, as where a receipt has
-- decided while it waited; an operator's may not. $3: who decided.
WITH lazily AS MATERIALIZED (
    SELECT CASE WHEN $2::boolean THEN set_config('synchronous_commit', 'off', true) ELSE '' END AS setting
),
settled AS MATERIALIZED (
    SELECT * FROM unnest($4::bytea[], $5::integer[], $6::text[], $7::text[], $8::bytea[], $9::text[], $10::text[])
    WITH ORDINALITY AS s (event_id, run, signal, state, attempts, reason, handlers, place)
),
moved AS (
    DELETE FROM landfast.shelf AS f USING settled AS s
    WHERE f.event_id = s.event_id AND f.run = coalesce(s.run, f.run) AND f.state = ANY ($1::text[])
    RETURNING
        f.received_at, f.event_id, f.run, f.forced, s.signal, s.state, s.attempts, s.reason, s.handlers, s.place,
        f.source, CASE WHEN f.holds THEN f.lane END AS lane
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, handlers, who, kept)
    SELECT received_at, event_id, landfast.clock(), run, forced, signal, state, attempts, reason, handlers, $3,
        NOT (
            received_at >= (SELECT history_from FROM landfast.weeks)
            AND received_at < (SELECT history_until FROM landfast.weeks)
        )
    FROM moved
)
SELECT place, source, lane FROM moved CROSS JOIN lazily WHERE setting IS NOT NULL
