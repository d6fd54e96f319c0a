SELECT 1 AS one FROM landfast_effect
WHERE done_at IS NULL AND due_at <= UTC_TIMESTAMP(6) AND (suspect OR state = %(held)s)
LIMIT 1
