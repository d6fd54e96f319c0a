-- What a claim has just leased, with everything that processing needs.
SELECT w.event_id, w.run, w.token, w.forced, w.suspect, w.crashes, w.tries,
       b.source, b.key, b.type, b.entity, b.occurred_at, b.received_at, b.headers, b.body, w.place, w.holds
FROM work w
JOIN body b ON b.seq = w.body_seq
WHERE w.seq IN (SELECT value FROM json_each(:places))
ORDER BY w.seq
