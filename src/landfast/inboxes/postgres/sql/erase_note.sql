INSERT INTO landfast.erasure (event_id, erased_at, who)
SELECT event_id, landfast.clock(), $2 FROM unnest($1::bytea[]) AS e (event_id)
