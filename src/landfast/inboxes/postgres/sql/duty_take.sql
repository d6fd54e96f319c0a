INSERT INTO landfast.duty AS held (task, holder, until)
VALUES ($1, $2, landfast.clock() + make_interval(secs => $3))
ON CONFLICT (task) DO UPDATE
SET
    holder = excluded.holder,
    until = excluded.until
WHERE held.holder = excluded.holder OR held.until + make_interval(secs => $4) <= landfast.clock()
RETURNING landfast.clock()
