-- The identity is drawn once; a later migration renews the fingerprint only.
INSERT INTO landfast.meta (inbox_id, fingerprint) VALUES ($1, $2)
ON CONFLICT (single) DO UPDATE SET fingerprint = EXCLUDED.fingerprint
