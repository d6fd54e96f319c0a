-- The lanes that are held by what goes.
SELECT DISTINCT source, lane FROM shelf
WHERE holds AND lane IS NOT NULL
  AND (body_seq, event_id) IN (SELECT value ->> 0, unhex(value ->> 1) FROM json_each(:gone))
