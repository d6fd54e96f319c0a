-- The identity is drawn once; a later migration renews the fingerprint only.
INSERT INTO meta (one, inbox, fingerprint) VALUES (1, :inbox, :fingerprint)
ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint
