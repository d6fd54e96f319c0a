DELETE FROM shelf
WHERE (body_seq, event_id) IN (SELECT value ->> 0, unhex(value ->> 1) FROM json_each(:gone))
