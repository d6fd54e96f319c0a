INSERT INTO landfast_ledger.erasure (inbox, event_id, digest, who)
SELECT $1::bytea, event_id, digest, $4::text FROM unnest($2::bytea[], $3::bytea[]) AS e (event_id, digest)
ON CONFLICT (inbox, event_id) DO NOTHING
