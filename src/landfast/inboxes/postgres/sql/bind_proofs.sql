-- Each proof with the digest that it counts for: the first one's, also when that was committed by another since we began.
INSERT INTO landfast.proof AS p (proof, digest, received_at)
SELECT proof, digest, received_at
FROM unnest($1::bytea[], $2::bytea[], $3::timestamptz[]) AS d (proof, digest, received_at)
ORDER BY proof
ON CONFLICT (proof) DO UPDATE SET digest = p.digest
RETURNING p.proof, p.digest
