-- Where our guard row is. A handler that says RESET ALL takes the setting with it, and then all of them are looked at.
SELECT ctid AS place FROM landfast_ledger.guard
WHERE ctid = ANY(CASE
    WHEN current_setting('landfast.guard', true) <> '' THEN ARRAY[current_setting('landfast.guard')::tid]
    ELSE ARRAY(SELECT ctid FROM landfast_ledger.guard WHERE xmin = pg_current_xact_id()::xid)
END)
