INSERT INTO operator_log_end (id, seq, digest, tag, key) VALUES (1, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET seq = excluded.seq, digest = excluded.digest, tag = excluded.tag, key = excluded.key
