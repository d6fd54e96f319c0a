UPDATE landfast_effect
SET state = %(held)s, token = %(token)s, due_at = UTC_TIMESTAMP(6) + INTERVAL %(lease)s MICROSECOND,
    suspect = %(suspect)s, crashes = %(crashes)s
WHERE seq = %(seq)s AND done_at IS NULL AND due_at <= UTC_TIMESTAMP(6)
