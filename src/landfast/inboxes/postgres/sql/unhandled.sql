SELECT source, type, sum(n)::bigint AS count, count(*) AS rows
FROM landfast.unhandled_count
GROUP BY source, type
ORDER BY source, type
