-- Without a time it is never tried again.
UPDATE message SET due_at = coalesce(:due_at, due_at), error = :error,
    given_up_at = CASE WHEN :due_at IS NULL THEN :now END
WHERE id = :id AND sink = :sink
