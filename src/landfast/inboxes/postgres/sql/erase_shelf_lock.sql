SELECT FROM landfast.shelf WHERE event_id = ANY ($1::bytea[]) ORDER BY event_id FOR UPDATE
