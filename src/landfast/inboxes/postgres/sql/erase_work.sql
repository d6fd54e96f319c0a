-- Before it moves, so that no row is written with it.
UPDATE landfast.work SET lane = NULL, tries = '{}' WHERE event_id = ANY ($1::bytea[]) AND token IS NULL
