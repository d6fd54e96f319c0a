SELECT 1 AS one FROM landfast_effect
WHERE `key` = %(key)s AND run = %(run)s AND token = %(token)s AND state = %(held)s
