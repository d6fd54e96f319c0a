SELECT kind, name, why, who, at, until FROM landfast.switch
WHERE until IS NULL OR until > landfast.clock()
ORDER BY kind, name
