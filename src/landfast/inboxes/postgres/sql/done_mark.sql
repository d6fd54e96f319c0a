SELECT seq FROM landfast.mark WHERE name = $1
