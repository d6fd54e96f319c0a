SELECT landfast.prepare($1)
