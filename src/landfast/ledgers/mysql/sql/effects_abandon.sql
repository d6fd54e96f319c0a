UPDATE landfast_effect SET due_at = LEAST(due_at, UTC_TIMESTAMP(6))
WHERE done_at IS NULL AND state = %(held)s AND SUBSTRING(token, 1, 8) = %(worker)s
