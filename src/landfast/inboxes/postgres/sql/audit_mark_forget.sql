-- Those beyond it are of a life that a restore has undone; of those before it, $2 are enough.
DELETE FROM landfast.mark
WHERE
    name = 'audit'
    AND (
        seq > $1
        OR seq <= (
            SELECT seq FROM landfast.mark WHERE name = 'audit' AND seq <= $1 ORDER BY seq DESC LIMIT 1 OFFSET $2
        )
    )
