DELETE FROM identity WHERE event_id IN (SELECT unhex(value ->> 1) FROM json_each(:gone))
