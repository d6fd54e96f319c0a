-- It waits for nobody, as `renew` does: a row that its zombie settles meanwhile is gone, or its lease runs out.
WITH expired AS (
    UPDATE landfast.work
    SET leased_until = '-infinity'
    WHERE seq = ANY (ARRAY(
        SELECT seq FROM landfast.work
        WHERE substring(token FROM 1 FOR 8) = $1 AND leased_until > landfast.clock()
        FOR UPDATE SKIP LOCKED
    )) AND substring(token FROM 1 FOR 8) = $1 AND leased_until > landfast.clock()
    RETURNING 1
)
SELECT count(*) FROM expired
