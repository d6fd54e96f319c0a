-- No copy of the inbox that may be restored has any of them.
DELETE FROM landfast_kept
WHERE inbox = %(inbox)s AND seen_at < UTC_TIMESTAMP(6) - INTERVAL %(forget_after)s MICROSECOND - INTERVAL 1 DAY
