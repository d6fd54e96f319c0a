-- One that this transaction has locked, as `marks_read`.
SELECT `key`, event, TIMESTAMPDIFF(MICROSECOND, handled_at, UTC_TIMESTAMP(6)) / 1000000 AS age
FROM landfast_arrival
WHERE `key` = %(key)s
FOR UPDATE
