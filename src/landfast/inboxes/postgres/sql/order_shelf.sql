-- The same of what waits, where it is in one of the states $2. What has been dead for a year blocks nobody now.
UPDATE landfast.shelf AS f
SET
    holds = f.run = 1 AND f.state = ANY ($2::text[]),
    place = coalesce(f.place, b.place, landfast.place_of(b.occurred_at, b.received_at))
FROM landfast.body AS b
WHERE
    f.source = ANY ($1::text[]) AND f.lane IS NOT NULL
    AND b.received_at = f.received_at AND b.event_id = f.event_id
