-- Among the first $3 rows and those of $4, which were found further back. On the right of SET stand the old values: a
-- crash counts where a lease expired that was a suspect's already.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
claimed AS (
    UPDATE landfast.work
    SET
        token = $1,
        claimed_at = landfast.clock(),
        leased_until = landfast.clock() + make_interval(secs => $2),
        crashes = crashes + (suspect AND token IS NOT NULL)::integer,
        suspect = true
    WHERE seq = ANY (ARRAY(
        SELECT seq FROM landfast.work
        WHERE seq = ANY (ARRAY(
            SELECT seq
            FROM (SELECT seq, token, suspect, leased_until FROM landfast.work ORDER BY seq LIMIT $3) AS front
            WHERE CASE WHEN token IS NULL THEN suspect ELSE leased_until <= landfast.clock() END
            ORDER BY seq LIMIT 100 -- some of them may be locked by others who search for suspects, too
        ) || $4::bigint[]) AND CASE WHEN token IS NULL THEN suspect ELSE leased_until <= landfast.clock() END
        ORDER BY seq LIMIT 1
        FOR UPDATE SKIP LOCKED
    )) AND CASE WHEN token IS NULL THEN suspect ELSE leased_until <= landfast.clock() END
    RETURNING seq, event_id, received_at, run, token, forced, suspect, crashes, tries, place, holds, source, lane
)
SELECT
    c.seq, c.event_id, c.run, c.token, c.forced, c.suspect, c.crashes, c.tries, c.place, c.holds,
    c.source, c.lane, b.key, b.type, b.entity, b.occurred_at, b.received_at, b.headers, b.body
FROM claimed AS c
LEFT JOIN landfast.body AS b ON b.received_at = c.received_at AND b.event_id = c.event_id
CROSS JOIN lazily
WHERE setting = 'off'
