WITH expired AS (
    UPDATE landfast.work
    SET leased_until = '-infinity'
    WHERE substring(token FROM 1 FOR 8) = $1 AND leased_until > landfast.clock()
    RETURNING 1
)
SELECT count(*) FROM expired
