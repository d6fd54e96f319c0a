-- The newest line of all stays: the next one is numbered after it, and marks go by those numbers.
DELETE FROM history
WHERE seq IN (
    SELECT h.seq
    FROM json_each(:gone) AS g
    CROSS JOIN history h ON h.received_at = g.value ->> 2 AND h.event_id = unhex(g.value ->> 1)
    WHERE h.seq < (SELECT max(seq) FROM history)
)
