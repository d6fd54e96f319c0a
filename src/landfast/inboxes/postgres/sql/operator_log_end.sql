-- A row in any case, for the time.
SELECT landfast.clock() AS at, e.seq, e.digest, e.tag, e.key
FROM (SELECT) AS always
LEFT JOIN landfast.operator_log_end AS e ON true
