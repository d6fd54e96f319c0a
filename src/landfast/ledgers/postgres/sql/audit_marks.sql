SELECT seq, nonce FROM landfast_audit_mark WHERE inbox = $1 ORDER BY seq DESC LIMIT $2
