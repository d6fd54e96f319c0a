-- Values with several rows that no event is named in.
SELECT count(*)
FROM (
    SELECT {column} FROM {table} WHERE {column} IS NOT NULL AND {event} IS NULL
    GROUP BY {column} HAVING count(*) > 1
) AS found
