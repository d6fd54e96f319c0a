-- The sealed bodies of events, to be opened and compared.
SELECT d.place, b.body, b.type, b.received_at
FROM unnest($1::bytea[]) WITH ORDINALITY AS d (event_id, place)
JOIN landfast.identity AS i ON i.event_id = d.event_id
JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
WHERE b.headers = '\x006c6673'
