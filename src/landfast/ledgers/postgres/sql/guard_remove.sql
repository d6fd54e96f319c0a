-- The last before COMMIT, by the places of the guard rows that are known and by how many there are. An error where one is
-- gone: what was said with it, COMMIT above all, does not happen then. A handler may have chosen a lazy COMMIT for its writes; a
-- receipt that a crash could undo is none.
WITH gone AS (
    DELETE FROM landfast_ledger.guard
    WHERE ctid = ANY(CASE
        WHEN cardinality($1::tid[]) = $2::integer THEN $1::tid[]
        WHEN current_setting('landfast.guard', true) <> '' THEN $1::tid[] || current_setting('landfast.guard')::tid
        ELSE ARRAY(SELECT ctid FROM landfast_ledger.guard WHERE xmin = pg_current_xact_id()::xid)
    END)
    RETURNING set_config('synchronous_commit', 'on', true)
)
SELECT 1 / (count(*) = $2::integer)::integer AS stands FROM gone
