-- By the state that was judged: one that a worker took up or finished since then stays.
DELETE FROM landfast.shelf AS f USING unnest($1::bytea[], $2::text[]) AS d (event_id, state)
WHERE f.event_id = d.event_id AND f.state = d.state
RETURNING f.event_id, f.source, CASE WHEN f.holds THEN f.lane END AS lane
