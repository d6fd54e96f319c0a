-- One that was not performed never is.
UPDATE landfast_effect
SET arguments = CAST('{}' AS BLOB), result = NULL, message = '', trace = '', token = NULL,
    error = CASE WHEN state = :done THEN '' ELSE 'erased' END,
    state = CASE WHEN state = :done THEN state ELSE :dead END,
    done_at = coalesce(done_at, :now)
WHERE digest = :digest
