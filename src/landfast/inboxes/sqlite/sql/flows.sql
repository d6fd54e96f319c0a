-- Which (source, type) have ready events, and where the oldest of each is: one step in the index for each, however many
-- events wait. After (:source, :type), :limit at most.
WITH RECURSIVE flow (source, type) AS (
    SELECT * FROM (
        SELECT source, type FROM work WHERE (source, type) > (:source, :type) ORDER BY source, type LIMIT 1)
    UNION ALL
    SELECT
        (SELECT w.source FROM work w WHERE (w.source, w.type) > (f.source, f.type) ORDER BY w.source, w.type LIMIT 1),
        (SELECT w.type FROM work w WHERE (w.source, w.type) > (f.source, f.type) ORDER BY w.source, w.type LIMIT 1)
    FROM flow f
    WHERE f.source IS NOT NULL
    LIMIT :limit)
SELECT f.source, f.type, (
    SELECT w.seq FROM work w INDEXED BY work_by_type
    WHERE w.source = f.source AND w.type = f.type AND w.token IS NULL AND w.suspect = 0
    ORDER BY w.seq LIMIT 1)
FROM flow f
WHERE f.source IS NOT NULL
