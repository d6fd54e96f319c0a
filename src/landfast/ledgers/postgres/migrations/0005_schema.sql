-- The tables leave the user's schema for one of their own: out of sight of the user's migration tools, and found
-- whatever the search_path is. It names the schema where they are now, and no other.

-- The guard first: whoever still works in a transaction has locked it already, and is waited for before we hold anything.
ALTER TABLE landfast_guard SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_guard RENAME TO guard;
ALTER TABLE landfast_never SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_never RENAME TO never;
ALTER TABLE landfast_receipt SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_receipt RENAME TO receipt;
ALTER TABLE landfast_effect SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_effect RENAME TO effect;
ALTER TABLE landfast_ledger SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_ledger RENAME TO identity;
ALTER TABLE landfast_ledger_inbox SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_ledger_inbox RENAME TO inbox;
ALTER TABLE landfast_audit_mark SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_audit_mark RENAME TO audit_mark;
ALTER TABLE landfast_store_key SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_store_key RENAME TO store_key;
ALTER TABLE landfast_erasure SET SCHEMA landfast_ledger;
ALTER TABLE landfast_ledger.landfast_erasure RENAME TO erasure;
ALTER FUNCTION landfast_clock() SET SCHEMA landfast_ledger;
ALTER FUNCTION landfast_ledger.landfast_clock() RENAME TO clock;

-- One that somebody has renamed or made anew keeps its name.
ALTER INDEX IF EXISTS landfast_ledger.landfast_never_pkey RENAME TO never_pkey;
ALTER INDEX IF EXISTS landfast_ledger.landfast_receipt_pkey RENAME TO receipt_pkey;
ALTER INDEX IF EXISTS landfast_ledger.landfast_effect_pkey RENAME TO effect_pkey;
ALTER INDEX IF EXISTS landfast_ledger.landfast_effect_seq_key RENAME TO effect_seq_key;
ALTER INDEX IF EXISTS landfast_ledger.landfast_effect_due RENAME TO effect_due;
ALTER INDEX IF EXISTS landfast_ledger.landfast_effect_digest RENAME TO effect_digest;
ALTER SEQUENCE IF EXISTS landfast_ledger.landfast_effect_seq_seq RENAME TO effect_seq_seq;
ALTER INDEX IF EXISTS landfast_ledger.landfast_ledger_pkey RENAME TO identity_pkey;
ALTER INDEX IF EXISTS landfast_ledger.landfast_ledger_inbox_pkey RENAME TO inbox_pkey;
ALTER INDEX IF EXISTS landfast_ledger.landfast_audit_mark_pkey RENAME TO audit_mark_pkey;
ALTER INDEX IF EXISTS landfast_ledger.landfast_store_key_pkey RENAME TO store_key_pkey;
ALTER INDEX IF EXISTS landfast_ledger.landfast_erasure_pkey RENAME TO erasure_pkey;

-- A version of before looks here for its migrations, and would make itself a second ledger if it found nothing.
CREATE FUNCTION landfast_ledger.moved() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'this ledger is in the schema landfast_ledger now; install the version of Landfast that moved it';
END $$;

DO $$
DECLARE
    reader text;
BEGIN
    IF to_regclass('landfast_ledger_migration') IS NOT NULL THEN
        DROP TABLE landfast_ledger_migration;
        CREATE VIEW landfast_ledger_migration AS SELECT landfast_ledger.moved() AS number, NULL::text AS name;
    END IF;
    -- Rights on a table are worth nothing without the right to its schema.
    FOR reader IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class CROSS JOIN aclexplode(relacl)
        WHERE oid = 'landfast_ledger.receipt'::regclass AND grantee <> relowner
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA landfast_ledger TO %s', reader);
        EXECUTE format('GRANT SELECT ON landfast_ledger.migration TO %s', reader);
    END LOOP;
END $$;
