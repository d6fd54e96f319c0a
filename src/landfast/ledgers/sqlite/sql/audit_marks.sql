SELECT seq, nonce FROM landfast_audit_mark WHERE inbox = :inbox ORDER BY seq DESC LIMIT :kept
