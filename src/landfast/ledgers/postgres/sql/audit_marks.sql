SELECT seq, nonce FROM landfast_ledger.audit_mark WHERE inbox = $1 ORDER BY seq DESC LIMIT $2
