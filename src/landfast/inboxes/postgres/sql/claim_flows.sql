-- As `claim`, but of the flows ($4, $5, $6) alone, each from its place $7 on. More are found than claimed, because others may
-- lock some of them at this moment. Rows are compared as wholes for the reason that `flows` gives.
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
        WHERE seq = ANY (ARRAY(
            SELECT found.seq
            FROM unnest($4::text[], $5::text[], $6::boolean[], $7::bigint[]) AS f (source, type, is_replay, first)
            CROSS JOIN LATERAL (
                SELECT w.seq FROM landfast.work AS w
                WHERE
                    (w.source, w.type, w.is_replay, w.seq) >= (f.source, f.type, f.is_replay, f.first)
                    AND (w.source, w.type, w.is_replay) <= (f.source, f.type, f.is_replay)
                    AND CASE WHEN w.token IS NULL THEN NOT w.suspect ELSE false END
                ORDER BY w.source, w.type, w.is_replay, w.seq LIMIT 2 * $3
            ) AS found
            ORDER BY found.seq LIMIT 2 * $3
        )) AND CASE WHEN token IS NULL THEN NOT suspect ELSE false END
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
