SELECT state, count(*) FROM landfast.shelf GROUP BY state
