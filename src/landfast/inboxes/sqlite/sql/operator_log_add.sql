INSERT INTO operator_log (seq, at, action, step, who, host, why, what, asked_by, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
