-- All of one state: nobody needs their order, nor anything of their events.
SELECT count(*) FROM (
    SELECT FROM landfast.work AS w WHERE (w.token IS NOT NULL) = $1 LIMIT $2
) AS found
