INSERT INTO walk (name, seq) VALUES (:name, :upto)
ON CONFLICT DO UPDATE SET seq = excluded.seq WHERE walk.seq = :seen
RETURNING seq
