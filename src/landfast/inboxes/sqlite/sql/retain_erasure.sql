-- Not one that may still be read in the file: it is what remembers that.
DELETE FROM erasure WHERE event_id IN (SELECT unhex(value ->> 1) FROM json_each(:gone)) AND is_clean
