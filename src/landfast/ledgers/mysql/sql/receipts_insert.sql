-- It fails for one that is there: INSERT IGNORE would also ignore a name that is too long.
INSERT INTO landfast_receipt (digest, handler, run, outcome, result, created_at)
VALUES
-- for each
(%(digest)s, %(handler)s, %(run)s, %(outcome)s, %(result)s, UTC_TIMESTAMP(6))
