SELECT count(*)
FROM (
    SELECT FROM landfast.history WHERE NOT kept AND received_at >= $1 AND received_at < $2 AND seq > $3 LIMIT $4
) AS unproven
