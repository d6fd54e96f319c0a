-- Values with several rows, each of another event.
SELECT count(*)
FROM (
    SELECT {column} FROM {table} WHERE {column} IS NOT NULL AND {event} IS NOT NULL
    GROUP BY {column} HAVING count(DISTINCT {event}) > 1
) AS found
