INSERT INTO boot (boot, seen_at, ended, owes) VALUES (?, ?, ?, 1)
ON CONFLICT DO UPDATE SET seen_at = max(seen_at, excluded.seen_at), ended = max(ended, excluded.ended), owes = 1
