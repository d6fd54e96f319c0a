INSERT INTO landfast.mark (name, seq, nonce) VALUES ('audit', $1, $2)
ON CONFLICT (name, seq) DO UPDATE SET nonce = EXCLUDED.nonce
