SELECT {column}, count(*), count(DISTINCT {event})
FROM {table} WHERE {column} IS NOT NULL AND {event} IS NOT NULL
GROUP BY {column} HAVING count(DISTINCT {event}) > 1
ORDER BY count(*) DESC, {column} LIMIT {groups}
