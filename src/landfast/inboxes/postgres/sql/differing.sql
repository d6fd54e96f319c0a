-- Compared by digest, so that no body travels to be found the same. Where retention has dropped the body, nothing differs.
SELECT d.place, sha256(b.body) <> d.digest, b.type <> d.type, b.received_at
FROM unnest($1::bytea[], $2::bytea[], $3::text[]) WITH ORDINALITY AS d (event_id, digest, type, place)
JOIN landfast.identity AS i ON i.event_id = d.event_id
JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
WHERE sha256(b.body) <> d.digest OR b.type <> d.type
