SELECT kind, name, why, who, at, until, at_once FROM switch
WHERE until IS NULL OR until > :now
ORDER BY kind, name
