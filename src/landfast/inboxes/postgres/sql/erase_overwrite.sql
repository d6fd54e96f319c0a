-- Rolled back. VACUUM leaves a key's bytes in the free part of its page; what is written next lands on them.
UPDATE landfast.identity SET data_key = $2 WHERE event_id = ANY ($1::bytea[])
