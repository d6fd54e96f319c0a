-- What a claim has just leased, and has no body.
SELECT w.event_id, w.run, w.token
FROM work w
WHERE w.seq IN (SELECT value FROM json_each(:places)) AND NOT EXISTS (SELECT 1 FROM body b WHERE b.seq = w.body_seq)
