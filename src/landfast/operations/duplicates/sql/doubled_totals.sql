-- By {named}: how many wrote more than one row, and how many rows there are too many.
SELECT count(*), coalesce(sum(found.n - 1), 0)
FROM (SELECT count(*) AS n FROM {table} WHERE {told} GROUP BY {group} HAVING count(*) > 1) AS found
