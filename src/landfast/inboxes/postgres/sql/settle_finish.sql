-- The receipts have decided: by event and run, under any token or none.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
settled AS MATERIALIZED (
    SELECT * FROM unnest($1::bytea[], $2::integer[], $3::bytea[], $4::text[], $5::text[])
    WITH ORDINALITY AS s (event_id, run, attempts, reason, handlers, place)
),
from_work AS (
    DELETE FROM landfast.work AS w USING settled AS s
    WHERE w.event_id = s.event_id AND w.run = s.run
    RETURNING w.received_at, w.event_id, w.run, w.forced, s.attempts, s.reason, s.handlers, s.place
),
from_shelf AS (
    DELETE FROM landfast.shelf AS f USING settled AS s
    WHERE f.event_id = s.event_id AND f.run = s.run AND f.state IN ('delayed', 'unhandled', 'paused')
    RETURNING f.received_at, f.event_id, f.run, f.forced, s.attempts, s.reason, s.handlers, s.place
),
moved AS (
    SELECT * FROM from_work UNION ALL SELECT * FROM from_shelf
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, attempts, reason, handlers)
    SELECT received_at, event_id, landfast.clock(), run, forced, 'finish', 'done', attempts, reason, handlers FROM moved
)
SELECT place FROM moved CROSS JOIN lazily WHERE setting = 'off'
