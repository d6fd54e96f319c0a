SELECT seq, nonce FROM landfast.mark WHERE name = 'audit' ORDER BY seq DESC LIMIT $1
