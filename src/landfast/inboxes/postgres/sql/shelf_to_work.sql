-- $1: the places that a `*_candidates` statement has found and locked, in the order in which they become ready. By ctid:
-- by their random ids, each would be looked for in a page of its own. $2: the states that it takes; not by `=`, which
-- would lead the planner to another index. $3: whether the commit may be lazy, which an operator's may not. $4 to $6:
-- signal, state, who. $7: the reason in the line of history; NULL for what it waited for. $8: whether it is the next run,
-- with no suspicion and the tries $10, and $9 whether that is forced. $11: states in which an event did not hold its lane,
-- and holds it again, but not at the places $12.
WITH lazily AS MATERIALIZED (
    SELECT CASE WHEN $3::boolean THEN set_config('synchronous_commit', 'off', true) ELSE '' END AS setting
),
gone AS (
    DELETE FROM landfast.shelf
    WHERE ctid = ANY ($1::tid[]) AND array_position($2::text[], state) IS NOT NULL
    RETURNING ctid AS found, *
),
moved AS (
    SELECT
        g.event_id, g.received_at, g.source, g.lane, g.type, g.run + $8::boolean::integer AS run,
        CASE WHEN $8 THEN $9::boolean ELSE g.forced END AS forced, g.suspect AND NOT $8 AS suspect,
        CASE WHEN $8 THEN 0 ELSE g.crashes END AS crashes, CASE WHEN $8 THEN $10::bytea ELSE g.tries END AS tries,
        coalesce($7::text, g.reason) AS reason, p.number, g.place AS lane_place,
        g.holds OR (
            g.state = ANY ($11::text[]) AND g.lane IS NOT NULL
            AND g.source IN (SELECT o.source FROM landfast.ordered_source AS o)
            AND NOT (g.found = ANY ($12::tid[]))
        ) AS holds
    FROM gone AS g
    JOIN unnest($1::tid[]) WITH ORDINALITY AS p (found, number) ON p.found = g.found
),
noted AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, reason, who, kept)
    SELECT received_at, event_id, landfast.clock(), run, forced, $4, $5, reason, $6,
        NOT (
            received_at >= (SELECT history_from FROM landfast.weeks)
            AND received_at < (SELECT history_until FROM landfast.weeks)
        )
    FROM moved
),
ready AS (
    INSERT INTO landfast.work (
        event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries, place, holds
    )
    SELECT event_id, received_at, source, lane, type, run, forced, suspect, crashes, tries, lane_place, holds FROM moved
    ORDER BY number
    RETURNING 1
)
SELECT count(*) FROM ready CROSS JOIN lazily WHERE setting IS NOT NULL
