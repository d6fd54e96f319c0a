-- The tables in which something of these events was overwritten. What was is still in their files until VACUUM.
SELECT DISTINCT b.tableoid::regclass::text AS name
FROM landfast.identity AS i
JOIN landfast.body AS b ON b.received_at = i.received_at AND b.event_id = i.event_id
WHERE i.event_id = ANY ($1::bytea[])
UNION
SELECT DISTINCT h.tableoid::regclass::text
FROM landfast.identity AS i
JOIN landfast.history AS h ON h.received_at = i.received_at AND h.event_id = i.event_id
WHERE i.event_id = ANY ($1::bytea[])
UNION
SELECT unnest(ARRAY['landfast.identity', 'landfast.work', 'landfast.shelf'])
