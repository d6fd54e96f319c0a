-- $1: under any token or none; otherwise a token must be the event's, and where none is given it must have none. A run
-- that is not given is any. $2: whether the commit may be lazy, which an operator's may not. $3: who decided.
-- `noted` is the reason in the line of history.
WITH lazily AS MATERIALIZED (
    SELECT CASE WHEN $2::boolean THEN set_config('synchronous_commit', 'off', true) ELSE '' END AS setting
),
settled AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $4::bytea[], $5::integer[], $6::bytea[], $7::text[], $8::text[], $9::bytea[], $10::text[], $11::bytea[],
        $12::boolean[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::float8[]
    ) WITH ORDINALITY AS s (
        event_id, run, token, signal, state, attempts, noted, tries, is_passed, handler, reason, error, line, message,
        due_in, place
    )
),
moved AS (
    DELETE FROM landfast.work AS w USING settled AS s
    WHERE
        w.event_id = s.event_id AND w.run = coalesce(s.run, w.run)
        AND ($1::boolean OR w.token IS NOT DISTINCT FROM s.token)
    RETURNING
        w.event_id, s.state, s.due_in, w.run, w.forced, w.suspect, w.crashes, coalesce(s.tries, w.tries) AS tries,
        s.handler, s.reason, s.error, s.line, s.message, w.received_at, w.source, w.lane, w.type, s.signal, s.attempts,
        s.noted, s.place, w.seq, w.place AS lane_place, w.holds, s.is_passed
),
shelved AS (
    INSERT INTO landfast.shelf (
        event_id, state, due_at, run, forced, suspect, crashes, tries, handler, reason, error, line, message,
        received_at, source, lane, type, shelved_at, seq, place, holds
    )
    SELECT
        event_id, state, landfast.clock() + make_interval(secs => due_in), run, forced, suspect, crashes, tries,
        handler, reason, error, line, message, received_at, source, lane, type, landfast.clock(), seq,
        lane_place, holds AND NOT is_passed
    FROM moved
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
SELECT place, source, CASE WHEN holds THEN lane END AS lane FROM moved CROSS JOIN lazily WHERE setting IS NOT NULL
