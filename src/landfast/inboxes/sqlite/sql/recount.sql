-- One chunk of all identities, each with the state that it is in; an event that is nowhere has none. What is neither at
-- work nor done must be on the shelf itself.
SELECT i.event_id, (SELECT CASE WHEN s.state IN (:ready, :claimed, :done) OR f.state IS NOT NULL THEN s.state END
                    FROM summary s LEFT JOIN shelf f ON f.body_seq = i.seq AND f.event_id = i.event_id WHERE s.seq = i.seq)
FROM identity i
WHERE i.event_id > :after
ORDER BY i.event_id
LIMIT :chunk
