SELECT seq, nonce FROM mark WHERE name = 'audit' ORDER BY seq DESC LIMIT ?
