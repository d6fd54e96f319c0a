-- Which (source, type) have ready events, and where the oldest of each is. $1 to $3 are those that are known, and from
-- which place on to look: below it lies what was claimed, and what is left of finished rows. If $4, the others are looked
-- for, too, after ($5, $6) and $7 at most: one step in the index for each, however many events wait.
-- Rows are compared and ordered as wholes: from `source = ...` the planner concludes that the order by seq is enough, and
-- walks through all events of all types.
WITH RECURSIVE flow AS (
    (
        SELECT source, type FROM landfast.work
        WHERE $4 AND (source, type) > ($5::text, $6::text)
        ORDER BY source, type LIMIT 1
    )
    UNION ALL
    SELECT following.source, following.type
    FROM flow AS f
    CROSS JOIN LATERAL (
        SELECT w.source, w.type FROM landfast.work AS w
        WHERE (w.source, w.type) > (f.source, f.type)
        ORDER BY w.source, w.type LIMIT 1
    ) AS following
),
known AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) AS k (source, type, seq)),
named AS (
    SELECT source, type, max(seq) AS seq, bool_or(is_searched) AS is_searched
    FROM (
        (SELECT source, type, 0 AS seq, true AS is_searched FROM flow LIMIT $7)
        UNION ALL SELECT source, type, seq, false FROM known
    ) AS names
    GROUP BY source, type
)
SELECT n.source, n.type, n.is_searched, ready.seq AS first
FROM named AS n
LEFT JOIN LATERAL (
    SELECT w.seq FROM landfast.work AS w
    WHERE
        (w.source, w.type, w.seq) >= (n.source, n.type, n.seq) AND (w.source, w.type) <= (n.source, n.type)
        AND CASE WHEN w.token IS NULL THEN NOT w.suspect ELSE false END
    ORDER BY w.source, w.type, w.seq LIMIT 1
) AS ready ON true
ORDER BY n.source, n.type
