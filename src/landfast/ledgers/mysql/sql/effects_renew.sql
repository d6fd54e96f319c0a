UPDATE landfast_effect SET due_at = UTC_TIMESTAMP(6) + INTERVAL %(lease)s MICROSECOND
WHERE done_at IS NULL AND state = %(held)s AND token = %(token)s AND due_at > UTC_TIMESTAMP(6)
