INSERT INTO landfast_audit_mark (inbox, seq, nonce) VALUES (%(inbox)s, %(seq)s, %(nonce)s)
ON DUPLICATE KEY UPDATE nonce = VALUES(nonce)
