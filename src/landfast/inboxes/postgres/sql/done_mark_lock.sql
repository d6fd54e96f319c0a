SELECT seq FROM landfast.mark WHERE name = $1 FOR UPDATE
