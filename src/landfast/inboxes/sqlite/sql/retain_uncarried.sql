-- What those lines that are about to go add to how many are :done, as far as that was not carried forward already.
SELECT coalesce(sum((h.state = :done) - (h.was = :done)), 0)
FROM json_each(:gone) AS g
CROSS JOIN history h ON h.received_at = g.value ->> 2 AND h.event_id = unhex(g.value ->> 1)
WHERE h.seq < (SELECT max(seq) FROM history) AND h.seq > (SELECT seq FROM mark WHERE name = :done)
