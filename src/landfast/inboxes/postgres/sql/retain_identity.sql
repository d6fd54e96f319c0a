-- The guard once more: what is at work or on the shelf is not over, whatever was judged. Looked up one by one, or the
-- planner would read all of the shelf for it.
DELETE FROM landfast.identity AS i
WHERE
    i.event_id = ANY ($1::bytea[])
    AND (SELECT w.event_id FROM landfast.work AS w WHERE w.event_id = i.event_id LIMIT 1) IS NULL
    AND (SELECT f.event_id FROM landfast.shelf AS f WHERE f.event_id = i.event_id LIMIT 1) IS NULL
RETURNING i.event_id
