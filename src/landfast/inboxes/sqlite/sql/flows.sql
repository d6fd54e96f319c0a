-- Which (source, type) have ready events, live ones and replays apart, and where the oldest of each is: one step in the
-- index for each, however many events wait. After (:source, :type, :is_replay), :limit at most.
WITH RECURSIVE flow (source, type, is_replay) AS (
    SELECT * FROM (
        SELECT source, type, is_replay FROM work WHERE (source, type, is_replay) > (:source, :type, :is_replay)
        ORDER BY source, type, is_replay LIMIT 1)
    UNION ALL
    SELECT
        (SELECT w.source FROM work w WHERE (w.source, w.type, w.is_replay) > (f.source, f.type, f.is_replay)
         ORDER BY w.source, w.type, w.is_replay LIMIT 1),
        (SELECT w.type FROM work w WHERE (w.source, w.type, w.is_replay) > (f.source, f.type, f.is_replay)
         ORDER BY w.source, w.type, w.is_replay LIMIT 1),
        (SELECT w.is_replay FROM work w WHERE (w.source, w.type, w.is_replay) > (f.source, f.type, f.is_replay)
         ORDER BY w.source, w.type, w.is_replay LIMIT 1)
    FROM flow f
    WHERE f.source IS NOT NULL
    LIMIT :limit)
SELECT f.source, f.type, (
    SELECT w.seq FROM work w INDEXED BY work_by_type
    WHERE w.source = f.source AND w.type = f.type AND w.is_replay = f.is_replay AND w.token IS NULL AND w.suspect = 0
    ORDER BY w.seq LIMIT 1), f.is_replay
FROM flow f
WHERE f.source IS NOT NULL
