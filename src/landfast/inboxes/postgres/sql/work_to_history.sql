-- $1: under any token or none. Without a commit that waits: lost in a crash, its lease expires, and the next claim finds
-- the receipts.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $2::bytea[], $3::integer[], $4::bytea[], $5::text[], $6::text[], $7::bytea[], $8::text[], $9::text[]
    ) WITH ORDINALITY AS s (event_id, run, token, signal, state, attempts, reason, handlers, place)
),
moved AS (
    DELETE FROM landfast.work AS w USING settled AS s
    WHERE w.event_id = s.event_id AND w.run = s.run AND ($1::boolean OR w.token = s.token)
    RETURNING
        w.received_at, w.event_id, w.run, w.forced, s.signal, s.state, s.attempts, s.reason, s.handlers, s.place,
        w.source, CASE WHEN w.holds THEN w.lane END AS lane
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, handlers, kept)
    SELECT received_at, event_id, landfast.clock(), run, forced, signal, state, attempts, reason, handlers,
        NOT (
            received_at >= (SELECT history_from FROM landfast.weeks)
            AND received_at < (SELECT history_until FROM landfast.weeks)
        )
    FROM moved
)
SELECT place, source, lane FROM moved CROSS JOIN lazily WHERE setting = 'off'
