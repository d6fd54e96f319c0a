-- A piece of the proofs, in their order: which of them are old, and where the piece ends.
WITH looked_at AS MATERIALIZED (
    SELECT proof, received_at FROM landfast.proof WHERE proof > $1 ORDER BY proof LIMIT $2
),
gone AS (
    DELETE FROM landfast.proof AS p USING looked_at AS l
    WHERE p.proof = l.proof AND l.received_at < landfast.clock() - make_interval(secs => $3)
)
SELECT proof FROM looked_at ORDER BY proof DESC LIMIT 1
