INSERT INTO landfast.operator_log_end (id, seq, digest, tag, key) VALUES (1, $1, $2, $3, $4)
ON CONFLICT (id) DO UPDATE
SET seq = EXCLUDED.seq, digest = EXCLUDED.digest, tag = EXCLUDED.tag, key = EXCLUDED.key
