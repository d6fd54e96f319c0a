-- The rows of those with the most of them, oldest first: {groups} values, and {rows} rows of each.
WITH doubled AS (
    SELECT {column} AS value, {event_or_null} AS event, count(*) AS n
    FROM {table} WHERE {told} GROUP BY {group} HAVING count(*) > 1
    ORDER BY count(*) DESC, {column} LIMIT {groups}
)
SELECT placed.value, placed.event, placed.n, placed.id, placed.at
FROM (
    SELECT
        d.value, d.event, d.n, {id} AS id, {time} AS at,
        row_number() OVER (PARTITION BY d.value, d.event ORDER BY {order}) AS place
    FROM {table} AS t JOIN doubled AS d ON {same_value} AND {same_event}
) AS placed
WHERE placed.place <= {rows}
ORDER BY placed.n DESC, placed.value, placed.event, placed.place
