SELECT kind, name, why, who, at, until FROM switch
WHERE until IS NULL OR until > :now
ORDER BY kind, name
