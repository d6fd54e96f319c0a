-- Receipts expire. An inbox names those of its old events that live, and says up to which moment it has named them all.
ALTER TABLE landfast_ledger.inbox ADD COLUMN kept_to timestamptz;

CREATE TABLE landfast_ledger.kept (
    digest  bytea       PRIMARY KEY,
    inbox   bytea       NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT landfast_ledger.clock()
);

DO $$
DECLARE
    grantee_name text;
BEGIN
    -- Whoever may write receipts may keep them.
    FOR grantee_name IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class CROSS JOIN aclexplode(relacl)
        WHERE oid = 'landfast_ledger.receipt'::regclass AND grantee <> relowner AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON landfast_ledger.kept TO %s', grantee_name);
    END LOOP;
END $$;
