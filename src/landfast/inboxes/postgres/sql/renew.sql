-- It waits for nobody: who settles takes rows in another order, and each would hold what the other wants. A row that
-- somebody has in hand is about to be settled; if it is not, the next renewal comes before its lease ends.
UPDATE landfast.work
SET leased_until = landfast.clock() + make_interval(secs => $2)
WHERE seq = ANY (ARRAY(
    SELECT seq FROM landfast.work
    WHERE token = ANY ($1::bytea[]) AND leased_until > landfast.clock()
    FOR UPDATE SKIP LOCKED
)) AND token = ANY ($1::bytea[]) AND leased_until > landfast.clock()
