UPDATE reconciliation
SET token = NULL, held_until = :held_until, ended_at = CASE WHEN :error = '' THEN :now END, error = :error,
    compared_until = coalesce(:compared_until, compared_until)
WHERE source = :source AND token = :token
