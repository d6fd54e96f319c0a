DELETE FROM landfast.rejection WHERE minute < landfast.clock() - make_interval(secs => $1)
