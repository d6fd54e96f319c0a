-- Whoever has the turn keeps it; another gets it when nobody has, and the last pass ended $2 seconds ago; or at once,
-- where that is urgent ($4). One that ended later than now ended by a clock that was wrong, and says nothing.
UPDATE landfast.retention
SET
    holder = $1,
    held_until = landfast.clock() + make_interval(secs => $3),
    began_at = CASE WHEN holder = $1 AND held_until > landfast.clock() THEN began_at ELSE landfast.clock() END
WHERE
    $4
    OR holder = $1 AND held_until > landfast.clock()
    OR held_until <= landfast.clock()
    AND (
        ended_at IS NULL OR ended_at > landfast.clock()
        OR ended_at <= landfast.clock() - make_interval(secs => $2)
    )
RETURNING began_at
