DELETE FROM landfast.volume
WHERE quarter = ANY ($1::timestamptz[]) OR quarter < landfast.clock() - make_interval(days => 36)
