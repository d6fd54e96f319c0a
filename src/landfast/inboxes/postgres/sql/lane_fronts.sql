-- Of each lane ($2, $3): the first places that others than the token $1 hold, at work and on the shelf. Whatever an open
-- transaction keeps from being removed is walked over, so each index is walked once.
SELECT
    l.source, l.lane,
    (
        SELECT w.place FROM landfast.work AS w
        WHERE w.source = l.source AND w.lane = l.lane AND w.holds AND w.token IS DISTINCT FROM $1
        ORDER BY w.place LIMIT 1
    ) AS at_work,
    (
        SELECT f.place FROM landfast.shelf AS f
        WHERE f.source = l.source AND f.lane = l.lane AND f.holds
        ORDER BY f.place LIMIT 1
    ) AS on_shelf
FROM unnest($2::text[], $3::text[]) AS l (source, lane)
