-- Compared by digest, so that no body travels to be found the same. Where the body has gone, nothing differs; where it
-- was erased, only the type can. One that is sealed is opened first; see `differing_sealed`.
SELECT d.place, e.event_id IS NULL AND sha256(b.body) <> d.digest, b.type <> d.type, b.received_at
FROM unnest($1::bytea[], $2::bytea[], $3::text[]) WITH ORDINALITY AS d (event_id, digest, type, place)
JOIN landfast.identity AS i ON i.event_id = d.event_id
JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
LEFT JOIN landfast.erasure AS e ON e.event_id = i.event_id
WHERE b.expired_at IS NULL AND b.headers <> '\x006c6673' AND (e.event_id IS NULL AND sha256(b.body) <> d.digest OR b.type <> d.type)
