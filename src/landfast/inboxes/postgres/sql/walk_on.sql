INSERT INTO landfast.walk AS w (name, seq) VALUES ($1, $3)
ON CONFLICT (name) DO UPDATE SET seq = excluded.seq WHERE w.seq = $2
RETURNING seq
