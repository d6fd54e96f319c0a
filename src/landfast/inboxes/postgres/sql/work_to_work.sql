-- $1: under any token or none. The lease ends, and what was tried is kept.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $2::bytea[], $3::integer[], $4::bytea[], $5::text[], $6::text[], $7::bytea[], $8::text[], $9::bytea[],
        $10::boolean[]
    ) WITH ORDINALITY AS s (event_id, run, token, signal, state, attempts, reason, tries, is_passed, place)
),
moved AS (
    UPDATE landfast.work AS w
    SET
        token = NULL, leased_until = NULL, tries = coalesce(s.tries, w.tries), holds = w.holds AND NOT s.is_passed
    FROM settled AS s
    WHERE w.event_id = s.event_id AND w.run = s.run AND ($1::boolean OR w.token = s.token)
    RETURNING
        w.received_at, w.event_id, w.run, w.forced, s.signal, s.state, s.attempts, s.reason, s.place, w.source,
        CASE WHEN s.is_passed THEN w.lane END AS lane
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, kept)
    SELECT received_at, event_id, landfast.clock(), run, forced, signal, state, attempts, reason,
        NOT (
            received_at >= (SELECT history_from FROM landfast.weeks)
            AND received_at < (SELECT history_until FROM landfast.weeks)
        )
    FROM moved
)
SELECT place, source, lane FROM moved CROSS JOIN lazily WHERE setting = 'off'
