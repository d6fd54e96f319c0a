-- All of one state: from its part of an index.
SELECT count(*) FROM (
    SELECT FROM landfast.shelf AS f WHERE f.state = $1 LIMIT $2
) AS found
