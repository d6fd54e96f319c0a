-- What is at work already holds its lane, too; not what was replayed, because its lane has passed it, perhaps.
UPDATE landfast.work AS w
SET
    holds = NOT w.is_replay,
    place = coalesce(w.place, b.place, landfast.place_of(b.occurred_at, b.received_at))
FROM landfast.body AS b
WHERE
    w.source = ANY ($1::text[]) AND w.lane IS NOT NULL
    AND b.received_at = w.received_at AND b.event_id = w.event_id
