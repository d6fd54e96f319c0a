INSERT INTO landfast_audit_mark (inbox, seq, nonce) VALUES (:inbox, :seq, :nonce)
ON CONFLICT (inbox, seq) DO UPDATE SET nonce = excluded.nonce
