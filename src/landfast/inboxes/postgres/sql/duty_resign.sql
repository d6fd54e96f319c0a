DELETE FROM landfast.duty WHERE task = $1 AND holder = $2
