-- Which (source, type) have ready events, live ones and replays apart, and where the oldest of each is. $1 to $4 are those
-- that are known, and from which place on to look: below it lies what was claimed, and what is left of finished rows. If $5,
-- the others are looked for, too, after ($6, $7, $8) and $9 at most: one step in the index for each, however many events
-- wait. Rows are compared and ordered as wholes: from `source = ...` the planner concludes that the order by seq is enough,
-- and walks through all events of all types.
WITH RECURSIVE flow AS (
    (
        SELECT source, type, is_replay FROM landfast.work
        WHERE $5 AND (source, type, is_replay) > ($6::text, $7::text, $8::boolean)
        ORDER BY source, type, is_replay LIMIT 1
    )
    UNION ALL
    SELECT following.source, following.type, following.is_replay
    FROM flow AS f
    CROSS JOIN LATERAL (
        SELECT w.source, w.type, w.is_replay FROM landfast.work AS w
        WHERE (w.source, w.type, w.is_replay) > (f.source, f.type, f.is_replay)
        ORDER BY w.source, w.type, w.is_replay LIMIT 1
    ) AS following
),
known AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[]) AS k (source, type, is_replay, seq)
),
named AS (
    SELECT source, type, is_replay, max(seq) AS seq, bool_or(is_searched) AS is_searched
    FROM (
        (SELECT source, type, is_replay, 0 AS seq, true AS is_searched FROM flow LIMIT $9)
        UNION ALL SELECT source, type, is_replay, seq, false FROM known
    ) AS names
    GROUP BY source, type, is_replay
)
SELECT n.source, n.type, n.is_replay, n.is_searched, ready.seq AS first
FROM named AS n
LEFT JOIN LATERAL (
    SELECT w.seq FROM landfast.work AS w
    WHERE
        (w.source, w.type, w.is_replay, w.seq) >= (n.source, n.type, n.is_replay, n.seq)
        AND (w.source, w.type, w.is_replay) <= (n.source, n.type, n.is_replay)
        AND CASE WHEN w.token IS NULL THEN NOT w.suspect ELSE false END
    ORDER BY w.source, w.type, w.is_replay, w.seq LIMIT 1
) AS ready ON true
ORDER BY n.source, n.type, n.is_replay
