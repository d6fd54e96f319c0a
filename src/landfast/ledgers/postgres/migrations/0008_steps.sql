-- Effects that are staged after others, or for a time; what they return; and which waits for which.
ALTER TABLE landfast_ledger.effect
    DROP CONSTRAINT IF EXISTS landfast_effect_state_check,
    ADD CONSTRAINT effect_state_check
        CHECK (state IN ('waiting', 'ready', 'claimed', 'delayed', 'done', 'dead')),
    ADD COLUMN starts_at timestamptz,
    ADD COLUMN waits integer NOT NULL DEFAULT 0,
    ADD COLUMN step bytea,
    ADD COLUMN result bytea;

-- `key` waits for `awaited`, of the same run. A row goes when `key` is done, or expires.
CREATE TABLE landfast_ledger.effect_wait (
    key     text    NOT NULL,
    run     integer NOT NULL,
    awaited text    NOT NULL,
    PRIMARY KEY (key, run, awaited)
);
CREATE INDEX effect_wait_awaited ON landfast_ledger.effect_wait (awaited, run);

DO $$
DECLARE
    grantee_name text;
BEGIN
    -- Whoever may write effects may stage steps.
    FOR grantee_name IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class CROSS JOIN aclexplode(relacl)
        WHERE oid = 'landfast_ledger.effect'::regclass AND grantee <> relowner AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON landfast_ledger.effect_wait TO %s', grantee_name);
    END LOOP;
END $$;
