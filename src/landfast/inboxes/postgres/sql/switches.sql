SELECT kind, name, why, who, at, until, at_once FROM landfast.switch
WHERE until IS NULL OR until > landfast.clock()
ORDER BY kind, name
