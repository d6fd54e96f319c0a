-- One chunk of all identities, each with the state that it is in. An event that is nowhere has none, and is missed.
SELECT i.event_id, (SELECT s.state FROM summary s WHERE s.seq = i.seq)
FROM identity i
WHERE i.event_id > :after
ORDER BY i.event_id
LIMIT :chunk
