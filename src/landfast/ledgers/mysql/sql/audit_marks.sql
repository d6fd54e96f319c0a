SELECT seq, nonce FROM landfast_audit_mark WHERE inbox = %(inbox)s ORDER BY seq DESC LIMIT %(kept)s
