DELETE FROM landfast.silence WHERE name = $1 AND subject = $2 RETURNING until > landfast.clock()
