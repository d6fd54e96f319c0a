-- Durable whatever the role's default is: a mark that a power cut took back would leave the ledger's alone.
WITH durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true) AS setting
)
INSERT INTO landfast.mark (name, seq, nonce) SELECT 'audit', $1, $2 FROM durably WHERE setting = 'on'
ON CONFLICT (name, seq) DO UPDATE SET nonce = EXCLUDED.nonce
