-- Of each lane ($4, $5), what waits in the state $7 before the place $6 and before anything that waits for something
-- else, $3 of all at most, is leased as by `claim`, and as old as it was. Whoever asks has the front of these lanes.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
gone AS (
    DELETE FROM landfast.shelf
    WHERE event_id = ANY (ARRAY(
        SELECT found.event_id
        FROM unnest($4::text[], $5::text[], $6::bytea[]) AS l (source, lane, bound)
        CROSS JOIN LATERAL (
            SELECT f.event_id, f.place, bool_and(f.state = $7 AND NOT f.suspect) OVER (ORDER BY f.place) AS is_free
            FROM (
                SELECT s.event_id, s.place, s.state, s.suspect FROM landfast.shelf AS s
                WHERE s.source = l.source AND s.lane = l.lane AND s.holds
                ORDER BY s.place LIMIT $3
            ) AS f
        ) AS found
        WHERE found.is_free AND (l.bound IS NULL OR found.place < l.bound)
        ORDER BY found.place LIMIT $3
    )) AND state = $7 AND NOT suspect
    RETURNING *
),
claimed AS (
    INSERT INTO landfast.work (
        seq, event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries, place, holds,
        token, claimed_at, leased_until
    )
    OVERRIDING SYSTEM VALUE
    SELECT
        coalesce(seq, nextval(pg_get_serial_sequence('landfast.work', 'seq'))), event_id, received_at, source, lane,
        type, run, forced, suspect, crashes, tries, place, holds,
        $1, landfast.clock(), landfast.clock() + make_interval(secs => $2)
    FROM gone
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
