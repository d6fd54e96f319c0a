-- One that was named within the last day need not be written again.
INSERT INTO landfast_kept (digest, inbox, seen_at) VALUES (:digest, :inbox, :now)
ON CONFLICT (digest) DO UPDATE SET seen_at = excluded.seen_at WHERE seen_at < excluded.seen_at - 86400000000
