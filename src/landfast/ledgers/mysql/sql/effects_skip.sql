UPDATE landfast_effect
SET state = %(then)s, done_at = UTC_TIMESTAMP(6), error = %(skipped)s, result = %(result)s
WHERE `key` = %(key)s AND run = %(run)s AND state = %(before)s AND error <> 'erased'
