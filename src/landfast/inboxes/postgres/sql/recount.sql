-- One chunk of all identities by the state that each is in; an event that is nowhere has none. $3 to $5: what
-- one at work is without a token, and with one, and what the newest line must say of any other.
SELECT state, count(*) AS count, max(event_id) AS last
FROM (
    SELECT
        i.event_id,
        coalesce(
            (SELECT CASE WHEN w.token IS NULL THEN $3::text ELSE $4 END
                FROM landfast.work AS w WHERE w.event_id = i.event_id),
            (SELECT f.state FROM landfast.shelf AS f WHERE f.event_id = i.event_id),
            (SELECT CASE h.state WHEN $5 THEN $5::text END FROM landfast.history AS h
                WHERE h.received_at = i.received_at AND h.event_id = i.event_id ORDER BY h.seq DESC LIMIT 1)
        ) AS state
    FROM (
        SELECT event_id, received_at FROM landfast.identity WHERE event_id > $1 ORDER BY event_id LIMIT $2
    ) AS i
) AS chunk
GROUP BY state
