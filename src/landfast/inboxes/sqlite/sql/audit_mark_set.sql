INSERT INTO mark (name, seq, nonce) VALUES ('audit', :seq, :nonce)
ON CONFLICT DO UPDATE SET nonce = excluded.nonce
