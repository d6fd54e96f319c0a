-- Only what is in one of the states $2 has a time at which it is due.
WITH lazily AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS setting
),
due AS (
    DELETE FROM landfast.shelf
    WHERE event_id = ANY (ARRAY(
        SELECT event_id FROM landfast.shelf
        WHERE due_at <= landfast.clock() AND state = ANY ($2::text[])
        ORDER BY due_at LIMIT $1
        FOR UPDATE SKIP LOCKED
    )) AND state = ANY ($2::text[])
    RETURNING *
)
INSERT INTO landfast.work (
    event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries, place, holds
)
SELECT event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries, place, holds
FROM due CROSS JOIN lazily WHERE setting = 'off'
ORDER BY due_at
