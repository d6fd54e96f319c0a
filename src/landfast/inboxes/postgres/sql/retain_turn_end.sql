UPDATE landfast.retention
SET holder = NULL, held_until = '-infinity', ended_at = CASE WHEN $2 THEN landfast.clock() ELSE ended_at END
WHERE holder = $1
