-- Marks beyond it are of a life that a restore has undone; of those before it, $4 are enough. It is durable whatever the
-- role's default is: the next audit believes it.
WITH durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true) AS setting
),
forgotten AS (
    DELETE FROM landfast_ledger.audit_mark
    WHERE
        inbox = $1
        AND (
            seq > $2
            OR seq <= (
                SELECT seq FROM landfast_ledger.audit_mark
                WHERE inbox = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1 OFFSET $4
            )
        )
)
INSERT INTO landfast_ledger.audit_mark (inbox, seq, nonce) SELECT $1, $2, $3 FROM durably WHERE setting = 'on'
ON CONFLICT (inbox, seq) DO UPDATE SET nonce = EXCLUDED.nonce
