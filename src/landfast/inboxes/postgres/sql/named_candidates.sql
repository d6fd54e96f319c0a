-- Of the events $1, those that wait in one of the states $2 and have their content still, oldest first: it
-- was neither erased nor expired.
SELECT f.ctid AS place, f.event_id, f.reason, f.run FROM landfast.shelf AS f
WHERE
    f.event_id = ANY ($1::bytea[]) AND f.state = ANY ($2::text[])
    AND NOT EXISTS (SELECT FROM landfast.erasure AS e WHERE e.event_id = f.event_id)
    AND NOT EXISTS (
        SELECT FROM landfast.body AS b
        WHERE b.received_at = f.received_at AND b.event_id = f.event_id AND b.expired_at IS NOT NULL
    )
ORDER BY f.received_at, f.event_id
FOR UPDATE OF f
