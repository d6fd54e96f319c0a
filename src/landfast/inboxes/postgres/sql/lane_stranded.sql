-- Lanes of the sources $1 in which the first event is in the state $2, and nothing before it is at work.
SELECT f.source, f.lane
FROM landfast.shelf AS f
WHERE
    f.holds AND f.state = $2 AND f.source = ANY ($1::text[])
    AND NOT EXISTS (
        SELECT FROM landfast.shelf AS e
        WHERE e.source = f.source AND e.lane = f.lane AND e.holds AND e.place < f.place
    )
    AND NOT EXISTS (
        SELECT FROM landfast.work AS w
        WHERE w.source = f.source AND w.lane = f.lane AND w.holds AND w.place < f.place
    )
LIMIT $3
