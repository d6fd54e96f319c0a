-- One that was named within the last day need not be written again.
INSERT INTO landfast_ledger.kept AS kept (digest, inbox)
SELECT digest, $1::bytea FROM unnest($2::bytea[]) AS given (digest)
ON CONFLICT (digest) DO UPDATE SET seen_at = EXCLUDED.seen_at
WHERE kept.seen_at < EXCLUDED.seen_at - interval '1 day'
