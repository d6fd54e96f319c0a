UPDATE landfast_effect
SET state = %(then)s, due_at = UTC_TIMESTAMP(6), done_at = NULL, tries_count = 0, tries_spent = 0, tries_unknown = 0,
    suspect = false, crashes = 0
WHERE `key` = %(key)s AND run = %(run)s AND state = %(before)s AND error <> 'erased'
