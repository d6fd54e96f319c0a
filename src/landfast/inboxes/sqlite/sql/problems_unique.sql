-- The columns of every unique index of a table.
SELECT group_concat(i.name)
FROM pragma_index_list(:table) l
JOIN pragma_index_info(l.name) i
WHERE l."unique"
GROUP BY l.name
