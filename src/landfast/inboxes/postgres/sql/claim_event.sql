-- As `claim`, of this very event $3, if it is ready, or if its lease has expired.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
claimed AS (
    UPDATE landfast.work
    SET
        token = $1,
        claimed_at = landfast.clock(),
        leased_until = landfast.clock() + make_interval(secs => $2)
    WHERE event_id = $3 AND (token IS NULL OR leased_until <= landfast.clock())
    RETURNING seq, event_id, received_at, run, token, forced, suspect, crashes, tries, place, holds, source, lane
)
SELECT
    c.seq, c.event_id, c.run, c.token, c.forced, c.suspect, c.crashes, c.tries, c.place, c.holds,
    c.source, c.lane, b.key, b.type, b.entity, b.occurred_at, b.received_at, b.headers, b.body
FROM claimed AS c
LEFT JOIN landfast.body AS b ON b.received_at = c.received_at AND b.event_id = c.event_id
CROSS JOIN lazily
WHERE setting = 'off'
