-- The newest line of all, if it is one of theirs: it is nobody's any more, and goes with those who are older.
UPDATE history SET received_at = 0, event_id = x'', attempts = '[]', reason = '', who = '', handlers = NULL
WHERE seq = (SELECT max(seq) FROM history)
  AND (received_at, event_id) IN (SELECT value ->> 2, unhex(value ->> 1) FROM json_each(:gone))
