-- Without seconds it is never tried again.
UPDATE landfast.message
SET
    due_at = coalesce(landfast.clock() + make_interval(secs => $3), due_at),
    error = $4,
    given_up_at = CASE WHEN $3::float8 IS NULL THEN landfast.clock() END
WHERE id = $1 AND sink = $2
