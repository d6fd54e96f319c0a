-- How far each handler has come in a lane, and the state of the lane's entity. Both are written in every transaction of
-- their lane, and no index has what changes: half of a page is left free, so that the new row stays on it.
CREATE TABLE landfast_ledger.lane_mark (
    lane     bytea       NOT NULL,
    handler  text        NOT NULL,
    place    bytea       NOT NULL,
    -- What it was when it was moved last: the answer of the statement that moves it.
    before   bytea       NOT NULL DEFAULT '',
    moved_at timestamptz NOT NULL DEFAULT landfast_ledger.clock(),
    PRIMARY KEY (lane, handler)
) WITH (fillfactor = 50);

CREATE TABLE landfast_ledger.lane_state (
    lane     bytea       NOT NULL,
    machine  text        NOT NULL,
    -- Empty: it is locked by somebody who has not moved it.
    state    text        NOT NULL DEFAULT '',
    is_last  boolean     NOT NULL DEFAULT true,
    moved_at timestamptz NOT NULL DEFAULT landfast_ledger.clock(),
    PRIMARY KEY (lane, machine)
) WITH (fillfactor = 50);

DO $$
DECLARE
    grantee_name text;
BEGIN
    -- Whoever may write receipts may write these.
    FOR grantee_name IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class CROSS JOIN aclexplode(relacl)
        WHERE oid = 'landfast_ledger.receipt'::regclass AND grantee <> relowner AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format(
            'GRANT SELECT, INSERT, UPDATE, DELETE ON landfast_ledger.lane_mark, landfast_ledger.lane_state TO %s',
            grantee_name
        );
    END LOOP;
END $$;
