-- Of an event that waits in one of the :states: when its handlers wanted to be tried again is forgotten, or a worker would
-- put off all of them but the first.
UPDATE shelf
SET tries = (SELECT json_group_object(made.key, json_remove(made.value, '$.due')) FROM json_each(shelf.tries) AS made)
WHERE body_seq = (SELECT seq FROM identity WHERE event_id = :event_id) AND event_id = :event_id
  AND state IN (SELECT value FROM json_each(:states)) AND tries <> '{}'
