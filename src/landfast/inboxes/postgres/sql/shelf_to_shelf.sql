-- $1: the states that it takes. A run that is not given is any. $2: whether the commit may be lazy, which an operator's
-- may not. $3: who decided. `noted` is the reason in the line of history, which may be what is gone from the shelf.
-- Where no handler is given, what the shelf says stays.
WITH lazily AS MATERIALIZED (
    SELECT CASE WHEN $2::boolean THEN set_config('synchronous_commit', 'off', true) ELSE '' END AS setting
),
settled AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $4::bytea[], $5::integer[], $6::text[], $7::text[], $8::bytea[], $9::text[], $10::bytea[], $11::boolean[],
        $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::float8[]
    ) WITH ORDINALITY AS s (
        event_id, run, signal, state, attempts, noted, tries, is_passed, handler, reason, error, line, message, due_in,
        place
    )
),
moved AS (
    UPDATE landfast.shelf AS f
    SET
        state = s.state, due_at = landfast.clock() + make_interval(secs => s.due_in),
        tries = coalesce(s.tries, f.tries), handler = coalesce(s.handler, f.handler),
        reason = coalesce(s.reason, f.reason), error = coalesce(s.error, f.error), line = coalesce(s.line, f.line),
        message = coalesce(s.message, f.message), holds = f.holds AND NOT s.is_passed,
        shelved_at = CASE WHEN s.handler IS NULL THEN f.shelved_at ELSE landfast.clock() END
    FROM settled AS s
    WHERE f.event_id = s.event_id AND f.run = coalesce(s.run, f.run) AND f.state = ANY ($1::text[])
    RETURNING
        f.received_at, f.event_id, f.run, f.forced, s.signal, s.state, s.attempts, s.noted, s.place, f.source,
        CASE WHEN s.is_passed THEN f.lane END AS lane
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, who, kept)
    SELECT received_at, event_id, landfast.clock(), run, forced, signal, state, attempts, noted, $3,
        NOT (
            received_at >= (SELECT history_from FROM landfast.weeks)
            AND received_at < (SELECT history_until FROM landfast.weeks)
        )
    FROM moved
)
SELECT place, source, lane FROM moved CROSS JOIN lazily WHERE setting IS NOT NULL
