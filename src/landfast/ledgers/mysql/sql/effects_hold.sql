-- As `effects_held`, and nobody erases it before this transaction has ended.
SELECT 1 AS one FROM landfast_effect
WHERE `key` = %(key)s AND run = %(run)s AND token = %(token)s AND state = %(held)s
FOR UPDATE
