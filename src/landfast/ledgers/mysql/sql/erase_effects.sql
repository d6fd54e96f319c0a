-- One that was not performed never is. MySQL assigns from left to right, so the state changes last.
UPDATE landfast_effect
SET arguments = '{}', result = NULL, message = '', trace = '', token = NULL,
    error = CASE WHEN state = %(done)s THEN '' ELSE 'erased' END,
    done_at = COALESCE(done_at, UTC_TIMESTAMP(6)),
    state = CASE WHEN state = %(done)s THEN state ELSE %(dead)s END
WHERE digest = %(digest)s
