-- Lost in a crash, a claim was never made; its worker settles by the receipt or finds its token gone.
-- The guard is a CASE because the planner, before the first ANALYZE, takes `token IS NULL` for rare and sorts the whole
-- table; of a CASE it expects half the rows, and walks the index until it has enough.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
claimed AS (
    UPDATE landfast.work
    SET
        token = $1,
        claimed_at = landfast.clock(),
        leased_until = landfast.clock() + make_interval(secs => $2)
    WHERE seq = ANY (ARRAY(
        SELECT seq FROM landfast.work
        WHERE seq > $4 AND CASE WHEN token IS NULL THEN NOT suspect ELSE false END
        ORDER BY seq LIMIT $3
        FOR UPDATE SKIP LOCKED
    )) AND token IS NULL AND NOT suspect
    RETURNING seq, event_id, received_at, run, token, forced, suspect, crashes, tries, place, holds, source, lane
)
SELECT
    c.seq, c.event_id, c.run, c.token, c.forced, c.suspect, c.crashes, c.tries, c.place, c.holds,
    c.source, c.lane, b.key, b.type, b.entity, b.occurred_at, b.received_at, b.headers, b.body
FROM claimed AS c
LEFT JOIN landfast.body AS b ON b.received_at = c.received_at AND b.event_id = c.event_id
CROSS JOIN lazily
WHERE setting = 'off'
ORDER BY c.seq
