SELECT seq FROM landfast.walk WHERE name = $1
