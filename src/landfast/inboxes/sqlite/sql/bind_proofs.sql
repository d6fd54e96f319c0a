-- A proof with the digest that it counts for: the first one's.
INSERT INTO proof (proof, digest, received_at) VALUES (?, ?, ?)
ON CONFLICT (proof) DO UPDATE SET digest = proof.digest
RETURNING proof, digest
