-- Events that steps of others wait for. Who waits for one and who handles one lock its row before they commit: so the
-- second of them sees what the first has written. `effect_wait.awaited` names it as it names an effect.
CREATE TABLE landfast_ledger.arrival (
    key        text        PRIMARY KEY,
    -- The last that was handled, and when. Nobody yet: somebody waits for one.
    event      text,
    handled_at timestamptz,
    moved_at   timestamptz NOT NULL DEFAULT landfast_ledger.clock()
);

DO $$
DECLARE
    grantee_name text;
BEGIN
    -- Whoever may write effects may wait for events.
    FOR grantee_name IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class CROSS JOIN aclexplode(relacl)
        WHERE oid = 'landfast_ledger.effect'::regclass AND grantee <> relowner AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON landfast_ledger.arrival TO %s', grantee_name);
    END LOOP;
END $$;
