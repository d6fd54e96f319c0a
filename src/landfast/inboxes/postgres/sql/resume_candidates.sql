-- Of one state, so that the index has them in order: those whose switch is in force no longer, oldest first.
SELECT f.ctid AS place FROM landfast.shelf AS f
WHERE
    f.state = $1
    AND NOT EXISTS (
        SELECT FROM landfast.switch AS s
        WHERE s.kind || ':' || s.name = f.reason AND (s.until IS NULL OR s.until > landfast.clock())
    )
ORDER BY f.received_at, f.event_id LIMIT $2
FOR UPDATE OF f SKIP LOCKED
