UPDATE landfast.shelf SET lane = NULL, tries = '{}' WHERE event_id = ANY ($1::bytea[])
